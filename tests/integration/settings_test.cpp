// The settings of model providers (contracts: workspace API v1, Sessions, settings, policy).
#include "tests/integration/scene.hpp"
#include "tests/support/temp_dir.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

using namespace tidemark;
using namespace tidemark::test;

namespace {

const std::string path = "/api/v1/settings";

http_reply put(const scene& stage, const std::string& provider, const std::string& body) {
  return stage.client.send({"PUT", path + "/providers/" + provider, body});
}

} // namespace

SCENARIO("contract, Sessions, settings, policy: a provider is set, made active, used by the next "
         "task, and its token never shown") {
  scene stage;
  CHECK(stage.client.get(path).parsed().at("providers").empty());

  const auto set =
    put(stage, "main", R"({"base_url":"http://127.0.0.1:9","auth_token":"tok-settings-1",
    "model":"model-from-settings"})");
  REQUIRE(set.status == 200);
  CHECK(set.parsed().at("providers").at("main").at("auth_token") == "********");
  CHECK(set.body.find("tok-settings-1") == std::string::npos);
  REQUIRE(stage.client.post(path + "/providers/main/activate").status == 200);
  CHECK(stage.client.get(path).parsed().at("active_provider") == "main");
  CHECK(read_file(stage.server.path("settings.json")).find("tok-settings-1") != std::string::npos);

  stage.run("demo", "TOOL echo model=$ANTHROPIC_MODEL token=$ANTHROPIC_AUTH_TOKEN");
  const auto history = stage.client.get(of("demo", "events")).body;
  CHECK(history.find("model=model-from-settings") != std::string::npos);
  CHECK(history.find("tok-settings-1") == std::string::npos);

  REQUIRE(put(stage, "main", R"({"model":"second-model","auth_token":"********"})").status == 200);
  stage.run("demo", "TOOL echo model=$ANTHROPIC_MODEL");
  CHECK(stage.client.get(of("demo", "events")).body.find("model=second-model")
        != std::string::npos);
  CHECK(stage.server.output().find("tok-settings-1") == std::string::npos);
}

SCENARIO("a change of settings that is refused changes nothing and says what is allowed") {
  scene stage;
  const auto unknown = stage.client.post(path + "/providers/none/activate");
  CHECK(unknown.status == 404);
  CHECK(unknown.parsed().at("error").at("code") == "PROVIDER_NOT_FOUND");
  const auto wrong = put(stage, "main", R"({"base_url":"nowhere"})");
  CHECK(wrong.status == 400);
  CHECK(wrong.parsed().at("error").at("message").get<std::string>().find("base_url")
        != std::string::npos);
  CHECK(read_file(stage.server.path("settings.json")).empty());

  std::ofstream{stage.server.path("settings.json")} << "{ broken";
  const auto refused = put(stage, "main", R"({"model":"m"})");
  CHECK(refused.status == 503);
  CHECK(refused.parsed().at("error").at("message").get<std::string>().find("SETTINGS_PATH")
        != std::string::npos);
  CHECK(read_file(stage.server.path("settings.json")) == "{ broken");
  CHECK(http_client{stage.server.url(), "wrong"}.get(path).status == 401);
}

SCENARIO(
  "neighbour of B43: settings behind a link are changed where they are, and are their owner's") {
  namespace fs = std::filesystem;
  scene stage;
  const auto real = stage.server.path("elsewhere.json");
  std::ofstream{real} << R"({"timeout_ms":5000,"providers":{}})";
  fs::create_symlink(real, stage.server.path("settings.json"));
  REQUIRE(put(stage, "main", R"({"model":"m","auth_token":"tok-of-a-link"})").status == 200);
  CHECK(fs::is_symlink(stage.server.path("settings.json")));
  CHECK(read_file(real).find("tok-of-a-link") != std::string::npos);
  CHECK(read_file(real).find("5000") != std::string::npos);
  CHECK((fs::status(real).permissions() & fs::perms::others_all) == fs::perms::none);
  CHECK((fs::status(real).permissions() & fs::perms::group_all) == fs::perms::none);
}
