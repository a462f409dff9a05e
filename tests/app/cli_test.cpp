#include "app/cli.hpp"
#include "app/exit_code.hpp"
#include "tests/storage/support.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <unistd.h>

using namespace tidemark;

namespace {

struct run_result {
  int code = 0;
  std::string out;
  std::string err;
};

run_result run(std::vector<std::string> arguments, environment_map environment = {}) {
  std::ostringstream out;
  std::ostringstream err;
  terminal to{out, err, false};
  const int code = run_cli(std::move(arguments), environment, to);
  return {code, out.str(), err.str()};
}

} // namespace

SCENARIO("a wrong command line ends with code 2 and says what is wrong") {
  CHECK(run({}).code == exit_usage);
  const auto no_command = run({"dance"});
  CHECK(no_command.code == exit_usage);
  CHECK_THAT(no_command.err, Catch::Contains("dance"));
  CHECK(run({"send", "only-a-workspace"}).code == exit_usage);
  const auto no_offset = run({"tail", "w", "--after", "abc", "--server", "http://127.0.0.1:1"});
  CHECK(no_offset.code == exit_usage);
  CHECK_THAT(no_offset.err, Catch::Contains("--after") && Catch::Contains("abc"));
  for (const auto* command : {"send", "tail", "verify"}) {
    const auto bad_name = run({command, "../x", "--server", "http://127.0.0.1:1"});
    CHECK(bad_name.code == exit_usage);
    CHECK_THAT(bad_name.err, Catch::Contains("workspace"));
  }
}

SCENARIO("a mistyped command line is refused as all errors are, with what was probably meant") {
  struct mistake {
    std::vector<std::string> arguments;
    const char* hint;
  };
  for (const auto& [arguments, hint] : std::vector<mistake>{
         {{"serve", "--prot", "1"},
          "--prot is not an option of `tidemark serve`; did you mean --port?"},
         {{"serve", "--prot=1"}, "did you mean --port?"},
         {{"send", "--modle", "x", "docs", "hi"}, "did you mean --model?"},
         {{"serve", "--something-else"}, "`tidemark serve --help` lists them"},
         {{"sevre"}, "there is no command tidemark sevre; did you mean serve?"},
         {{"sevre", "--help"}, "did you mean serve?"},
         {{"dance"}, "`tidemark --help` lists them"},
         {{"token", "crate", "x"}, "did you mean create?"},
         {{"--port", "1", "serve"}, "options come after it: tidemark serve --port"},
         {{"token"}, "`tidemark token --help` lists them"},
         {{}, "a command is missing"},
         {{"tail", "--port", "7999"}, "--server <url>"},
         {{"workspaces", "--port=7999"}, "which server to ask is said by --server <url>"},
         {{"token", "list", "--port", "1"}, "a setting of `tidemark serve`"},
         {{"workspaces", "--token", "x"}, "TIDEMARK_TOKEN"},
         {{"serve", "--token", "x"}, "INTERNAL_API_TOKEN"},
         {{"tail", "docs", "more"}, "more"},
         {{"tail"}, "workspace is required"},
       }) {
    const auto refused = run(arguments);
    INFO(refused.err);
    CHECK(refused.code == exit_usage);
    CHECK(refused.out.empty());
    CHECK_THAT(refused.err, Catch::StartsWith("error: ") && Catch::Contains(hint));
    CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  }
}

SCENARIO("the help of a command lists what the command uses, and not all settings of the server") {
  struct expectation {
    std::vector<std::string> command;
    std::vector<std::string> listed;
  };
  for (const auto& [command, listed] : std::vector<expectation>{
         {{"token", "create"}, {"--scope", "--expires", "--http-tokens-file", "--config"}},
         {{"token", "list"}, {"--http-tokens-file"}},
         {{"token", "revoke"}, {"--http-tokens-file"}},
         {{"verify"}, {"--offline", "--server", "--data-dir", "--config"}},
         {{"config"}, {"--json", "--markdown", "`tidemark serve --help`"}},
         {{"doctor"}, {"`tidemark serve --help`"}},
       }) {
    auto arguments = command;
    arguments.emplace_back("--help");
    const auto help = run(arguments);
    INFO(help.out);
    CHECK(help.code == exit_ok);
    for (const auto& each : listed)
      CHECK_THAT(help.out, Catch::Contains(each));
    CHECK_THAT(help.out, !Catch::Contains("--http-port") && !Catch::Contains("--log-durability"));
  }
}

SCENARIO("tokens are made, listed and revoked in the tokens file") {
  const auto directory =
    std::filesystem::temp_directory_path() / ("tidemark-tokens-" + std::to_string(::getpid()));
  const environment_map environment{{"TIDEMARK_HTTP_TOKENS_FILE", directory / "tokens.json"}};
  const auto made =
    run({"token", "create", "ci", "--scope", "read,write", "--expires", "90d"}, environment);
  CHECK(made.code == exit_ok);
  CHECK_THAT(made.out, Catch::StartsWith("tmk_"));
  CHECK(made.out.size() == 48);
  CHECK(run({"token", "create", "ops", "--scope", "admin"}, environment).code == exit_ok);
  const auto listed = run({"token", "list"}, environment);
  CHECK_THAT(listed.out, Catch::Contains("ci") && Catch::Contains("read,write")
                           && Catch::Contains("until 20") && Catch::Contains("for ever"));
  CHECK(listed.out.find("tmk_") == std::string::npos);
  CHECK(run({"token", "revoke", "ci"}, environment).code == exit_ok);
  CHECK(run({"token", "list"}, environment).out.find("ci ") == std::string::npos);
  const auto again = run({"token", "revoke", "ci"}, environment);
  CHECK(again.code == exit_failed);
  CHECK_THAT(again.err, Catch::Contains("ci"));
  CHECK(run({"token", "create", "a b", "--scope", "read"}, environment).code == exit_usage);
  CHECK(run({"token", "create", "a", "--scope", "root"}, environment).code == exit_usage);
  CHECK(run({"token", "create", "a"}, environment).code == exit_usage);
  CHECK(run({"token", "create", "a", "--scope", "read", "--expires", "soon"}, environment).code
        == exit_usage);
  CHECK(run({"token", "create", "internal", "--scope", "read"}, environment).code == exit_usage);
  CHECK(run({"token", "create", "a", "--scope", "read", "--expires", "0s"}, environment).code
        == exit_usage);
  CHECK(run({"token"}, environment).code == exit_usage);
  const auto readable = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write
                        | std::filesystem::perms::group_read | std::filesystem::perms::others_read;
  std::filesystem::permissions(directory / "tokens.json", readable);
  CHECK(run({"token", "create", "late", "--scope", "read"}, environment).code == exit_ok);
  CHECK(std::filesystem::status(directory / "tokens.json").permissions() == readable);
  const auto nowhere = run({"token", "list"});
  CHECK(nowhere.code == exit_usage);
  CHECK_THAT(nowhere.err, Catch::Contains("--http-tokens-file"));
  std::filesystem::remove_all(directory);
}

SCENARIO("verify takes settings only where it reads the log itself") {
  const auto asked = run({"verify", "demo", "--port", "7999"});
  CHECK(asked.code == exit_usage);
  CHECK_THAT(asked.err, Catch::Contains("--server"));
  const auto elsewhere = run({"verify", "demo", "--data-dir", "elsewhere"});
  CHECK(elsewhere.code == exit_usage);
  CHECK_THAT(elsewhere.err, Catch::Contains("--offline") && Catch::Contains("--server"));
}

SCENARIO("verify reads no log that a server may change meanwhile, which would look like damage") {
  const testing::temporary_directory directory;
  const std::vector<std::string> verify{"verify", "demo", "--offline", "--data-dir",
                                        directory.path().string()};
  {
    const auto log = testing::open_log(directory.path());
    REQUIRE(testing::append(*log, "demo", "{}"));
    const auto refused = run(verify);
    CHECK(refused.code == exit_cannot_start);
    CHECK_THAT(refused.err, Catch::Contains("in use by process " + std::to_string(::getpid()))
                              && Catch::Contains("without --offline"));
  }
  const auto done = run(verify);
  INFO(done.err);
  CHECK(done.code == exit_ok);
  CHECK_THAT(done.out, Catch::Contains("demo: 1 events, unaltered"));
}

SCENARIO("a wrong setting ends with code 2, wherever it was given") {
  const auto flag = run({"config", "--port", "70000"});
  CHECK(flag.code == exit_usage);
  CHECK_THAT(flag.err, Catch::Contains("http.port") && Catch::Contains("65535"));
  CHECK(run({"config"}, {{"RUNTIME_POLICY", "yolo"}}).code == exit_usage);
  CHECK(run({"config", "--config", "/nonexistent.toml"}).code == exit_usage);
  const auto nowhere = run({"config", "--data-dir", ""});
  CHECK(nowhere.code == exit_usage);
  CHECK_THAT(nowhere.err, Catch::Contains("data.dir"));
}

SCENARIO("help teaches by examples and ends with code 0") {
  const auto help = run({"--help"});
  CHECK(help.code == exit_ok);
  CHECK_THAT(help.out, Catch::Contains("tidemark send docs") && Catch::Contains("Exit codes"));
  CHECK_THAT(run({"serve", "--help"}).out,
             Catch::Contains("--port") && Catch::Contains("INTERNAL_API_TOKEN=$("));
  CHECK_THAT(run({"version"}).out, Catch::StartsWith("tidemark "));
  CHECK(run({"--version"}).code == exit_ok);
}

SCENARIO("results that cannot be written are no success") {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  terminal to{out, err, false};
  CHECK(run_cli({"config"}, {}, to) == exit_failed);
  CHECK_THAT(err.str(), Catch::Contains("could not be written"));
}

SCENARIO("config shows each value with its source and no secret") {
  const auto shown = run({"config", "--port", "7"}, {{"INTERNAL_API_TOKEN", "super-secret-value"}});
  CHECK(shown.code == exit_ok);
  CHECK_THAT(shown.out, Catch::Contains("flag --http-port")
                          && Catch::Contains("environment INTERNAL_API_TOKEN"));
  CHECK_THAT(shown.out, !Catch::Contains("super-secret"));
  AND_THEN("a toggle needs no value to be on") {
    const auto toggled =
      run({"config", "--insecure-no-auth", "--agent-skip-permissions=false"}).out;
    CHECK_THAT(toggled, Catch::Contains("flag --http-insecure-no-auth"));
    CHECK_THAT(toggled, Catch::Contains("http.insecure_no_auth            true"));
  }
}

SCENARIO("a server that is not there ends with code 3 and says what to do") {
  // Port 1 is privileged and unused: nothing of ours listens there.
  for (const auto& command : std::vector<std::vector<std::string>>{
         {"send", "w", "hello"}, {"workspaces"}, {"tail", "w"}, {"verify", "w"}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--server", "http://127.0.0.1:1"});
    INFO(command.front());
    const auto result = run(arguments);
    CHECK(result.code == exit_unreachable);
    CHECK_THAT(result.err, Catch::Contains("tidemark serve"));
  }
}

SCENARIO("contract, Transport: a server that others could reach does not start without a token") {
  const auto directory =
    std::filesystem::temp_directory_path() / ("tidemark-cli-" + std::to_string(::getpid()));
  const auto result =
    run({"serve", "--host", "0.0.0.0", "--port", "0", "--data-dir", directory.string()});
  CHECK(result.code == exit_cannot_start);
  CHECK(result.out.empty());
  std::filesystem::remove_all(directory);
}
