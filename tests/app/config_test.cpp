#include "app/config.hpp"
#include "app/setting_table.hpp"
#include "app/setting_values.hpp"
#include "base/json.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

using namespace tidemark;

namespace {

config loaded(const config_inputs& inputs) {
  auto result = load_config(inputs);
  INFO((result ? std::string{} : result.error().message));
  REQUIRE(result);
  return *result;
}

std::string refused(const config_inputs& inputs) {
  const auto result = load_config(inputs);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == errc::invalid_argument);
  return result.error().message;
}

config_inputs with_file(std::string text) {
  return {{}, {}, config_file{"tidemark.toml", std::move(text)}};
}

} // namespace

SCENARIO(
  "flags win over the environment, the environment over the file, the file over the default") {
  config_inputs inputs = with_file("[http]\nport = 1001\n");
  CHECK(loaded({}).values.http.port == 7021);

  CHECK(loaded(inputs).values.http.port == 1001);
  CHECK(loaded(inputs).sources["http.port"] == "tidemark.toml line 2");

  inputs.environment["PORT"] = "1002";
  CHECK(loaded(inputs).values.http.port == 1002);
  CHECK(loaded(inputs).sources["http.port"] == "environment PORT");

  inputs.environment["TIDEMARK_HTTP_PORT"] = "1003";
  CHECK(loaded(inputs).values.http.port == 1003);

  inputs.flags["http.port"] = "1004";
  CHECK(loaded(inputs).values.http.port == 1004);
  CHECK(loaded(inputs).sources["http.port"] == "flag --http-port");
}

SCENARIO("contract, Transport: the environment names work as they are") {
  config_inputs inputs;
  inputs.environment = {{"WORKSPACE_ROOT", "/w"},
                        {"SETTINGS_PATH", "/s.json"},
                        {"RUNTIME_POLICY", "strict"},
                        {"SKIP_PERMISSIONS", "true"},
                        {"HOST", "0.0.0.0"},
                        {"PORT", "0"},
                        {"INTERNAL_API_TOKEN", "t0ken-t0ken"},
                        {"TIDEMARK_DATA_DIR", "/d"},
                        {"TIDEMARK_AGENT", "claude"},
                        {"TIDEMARK_CLAUDE_BIN", "/c"},
                        {"TIDEMARK_DURABILITY", "os"}};
  const auto s = loaded(inputs).values;
  CHECK(s.agent.workspace_root == "/w");
  CHECK(s.agent.settings_path == "/s.json");
  CHECK(s.agent.rights == policy::strict);
  CHECK(s.agent.skip_permissions);
  CHECK(s.http.host == "0.0.0.0");
  CHECK(s.http.port == 0);
  CHECK(s.http.token == "t0ken-t0ken");
  CHECK(s.data_directory == "/d");
  CHECK(s.agent.kind == "claude");
  CHECK(s.agent.binary == "/c");
  CHECK(s.log.when_done == durability::os);
}

SCENARIO("an empty environment value counts as unset") {
  config_inputs inputs;
  inputs.environment = {{"PORT", ""}, {"RUNTIME_POLICY", ""}};
  CHECK(loaded(inputs).values.http.port == 7021);
}

SCENARIO("a wrong value names the key, where it was given and what is allowed") {
  config_inputs inputs;
  inputs.environment["RUNTIME_POLICY"] = "yolo";
  const auto policy_message = refused(inputs);
  CHECK_THAT(policy_message,
             Catch::Contains("agent.policy = \"yolo\" (environment RUNTIME_POLICY)"));
  CHECK_THAT(policy_message, Catch::Contains("relaxed, agent, strict"));

  config_inputs flag;
  flag.flags["http.port"] = "65536";
  CHECK_THAT(refused(flag),
             Catch::Contains("flag --http-port") && Catch::Contains("from 0 to 65535"));

  CHECK_THAT(refused(with_file("[http]\n\nheartbeat = 15\n")),
             Catch::Contains("tidemark.toml line 3") && Catch::Contains("with its unit"));
  CHECK_THAT(refused(with_file("[http]\nport = 1.5\n")),
             Catch::Contains("http.port must be <number>"));
}

SCENARIO("an unknown key of the file is refused, with the key that was probably meant") {
  CHECK_THAT(refused(with_file("[http]\nprot = 1\n")),
             Catch::Contains("\"http.prot\" is not a setting") && Catch::Contains("\"http.port\""));
  CHECK_THAT(refused(with_file("colour = 'blue'\n")), Catch::Contains("colour"));
  CHECK_THAT(refused(with_file("[http\n")), Catch::Contains("tidemark.toml line 1"));
}

SCENARIO("an unknown TIDEMARK_ name is a warning, not silence") {
  config_inputs inputs;
  inputs.environment = {
    {"TIDEMARK_HTPP_PORT", "1"}, {"TIDEMARK_SERVER", "x"}, {"TIDEMARK_TOKEN", "x"}, {"OTHER", "y"}};
  const auto warnings = loaded(inputs).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("TIDEMARK_HTPP_PORT"));
}

SCENARIO("every default reads back to itself and every name is used once") {
  const settings defaults;
  std::set<std::string> names;
  for (const auto& s : all_settings()) {
    INFO(s.key);
    settings copy;
    const auto text = s.show(defaults);
    const auto done = s.read(copy, text);
    CHECK(done.has_value());
    CHECK(s.show(copy) == text);
    CHECK_FALSE(s.text.empty());
    CHECK(names.insert(s.environment()).second);
    for (const auto& other : s.other_environment)
      if (other != s.environment())
        CHECK(names.insert(other).second);
    if (!s.secret)
      CHECK(names.insert(s.flag()).second);
    for (const auto& other : s.other_flags)
      CHECK(names.insert(other).second);
  }
}

SCENARIO("the token is never shown and has no flag") {
  config_inputs inputs;
  inputs.environment["INTERNAL_API_TOKEN"] = "super-secret-value";
  const auto c = loaded(inputs);
  CHECK_THAT(show_config(c), !Catch::Contains("super-secret") && Catch::Contains("***"));
  CHECK_THAT(show_config_json(c), !Catch::Contains("super-secret"));
  CHECK(find_setting("http.token")->flag().empty());
}

SCENARIO("places follow the data directory unless they are set") {
  config_inputs inputs;
  inputs.environment = {{"TIDEMARK_DATA_DIR", "/var/lib/tidemark"},
                        {"WORKSPACE_ROOT", "/srv/work"}};
  auto c = loaded(inputs);
  REQUIRE(resolve(c, {{"PATH", "/nonexistent"}}, "/opt/tidemark/bin/tidemark"));
  CHECK(c.values.log.directory == "/var/lib/tidemark");
  CHECK(c.values.agent.workspace_root == "/srv/work");
  CHECK(c.values.agent.state_directory == "/var/lib/tidemark/agents");
  CHECK(c.values.agent.guard == "/opt/tidemark/bin/tidemark-guard");
  AND_THEN("without a claude in PATH the demo agent beside us runs") {
    CHECK(c.values.agent.kind == "demo");
    CHECK(c.values.agent.binary == "/opt/tidemark/bin/tidemark-demo-agent");
    CHECK(c.values.rules.agent == "demo");
  }
}

SCENARIO("a path given for the CLI means claude, also while nothing is there") {
  config_inputs inputs;
  inputs.environment = {{"TIDEMARK_CLAUDE_BIN", "/nonexistent/claude"}};
  auto c = loaded(inputs);
  REQUIRE(resolve(c, {}, "/opt/tidemark"));
  CHECK(c.values.agent.kind == "claude");
  CHECK(c.values.agent.binary == "/nonexistent/claude");
}

SCENARIO("durations and sizes are read with their units and nothing else") {
  CHECK(*parse_duration("250ms") == std::chrono::milliseconds{250});
  CHECK(*parse_duration("2h") == std::chrono::hours{2});
  CHECK_FALSE(parse_duration("30"));
  CHECK_FALSE(parse_duration("-1s"));
  CHECK_FALSE(parse_duration("99999999999999999999h"));
  CHECK_FALSE(parse_duration("9223372036854775807h"));
  CHECK(show_duration(std::chrono::seconds{90}) == "90s");
  CHECK(*parse_bytes("64MiB") == 64u << 20);
  CHECK(*parse_bytes("12") == 12);
  CHECK(*parse_bytes("1 MB") == 1'000'000);
  CHECK_FALSE(parse_bytes("1 furlong"));
  CHECK(show_bytes(3u << 19) == "1536KiB");
  CHECK(parse_list(" a, b,,c ") == std::vector<std::string>{"a", "b", "c"});
  CHECK(*parse_toggle("ON"));
  CHECK_FALSE(parse_toggle("maybe"));
}

SCENARIO("docs/operations.md holds the table of settings as it is") {
  const auto page_path = std::filesystem::path{__FILE__}.parent_path() / "../../docs/operations.md";
  std::ifstream in{page_path};
  const std::string page{std::istreambuf_iterator<char>{in}, {}};
  INFO("write the output of `tidemark config --markdown` there");
  CHECK(page.find(settings_as_markdown()) != std::string::npos);
}
