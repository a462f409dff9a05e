#include "agents/provider_settings.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

json settings_of(const std::string& text) {
  return parse_settings_file(text).value();
}

} // namespace

SCENARIO("a settings file shows its providers with every secret masked") {
  const auto shown = masked_settings(settings_of(R"({"active_provider":"a","timeout_ms":5000,
    "api_key":"hidden-1","providers":{"a":{"base_url":"https://m.example","auth_token":"hidden-2",
    "model":"m","other":"hidden-3"},"b":{"name":"B"}}})"));
  CHECK(shown["active_provider"] == "a");
  CHECK(shown["timeout_ms"] == 5000);
  CHECK(shown["providers"]["a"]["auth_token"] == masked_secret);
  CHECK(shown["providers"]["a"]["base_url"] == "https://m.example");
  CHECK(shown["providers"]["b"]["name"] == "B");
  CHECK(shown["providers"]["b"]["auth_token"] == "");
  CHECK(dump_json(shown).find("hidden") == std::string::npos);
}

SCENARIO("a missing settings file is an empty one, a broken one says what to mend") {
  CHECK(masked_settings(parse_settings_file(std::nullopt).value())["providers"].empty());
  for (const auto* text : {"", "{", "[]", R"({"providers":[]})", R"({"providers":{"a":1}})"}) {
    INFO(text);
    const auto parsed = parse_settings_file(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == errc::unavailable);
    CHECK(parsed.error().message.find("SETTINGS_PATH") != std::string::npos);
  }
}

SCENARIO("a change of a provider leaves alone what it does not name") {
  const auto before = settings_of(R"({"extra":[1],"active_provider":"a",
    "providers":{"a":{"base_url":"https://one.example","auth_token":"t","model":"m","x":2}}})");
  const auto change = parse_provider_change(R"({"model":"n","auth_token":"********"})");
  REQUIRE(change);
  const auto after = with_provider(before, "a", *change).value();
  CHECK(after["extra"] == before["extra"]);
  CHECK(after["providers"]["a"]["auth_token"] == "t");
  CHECK(after["providers"]["a"]["base_url"] == "https://one.example");
  CHECK(after["providers"]["a"]["model"] == "n");
  CHECK(after["providers"]["a"]["x"] == 2);

  const auto added = with_provider(after, "b", {"http://two.example", "u", std::nullopt}).value();
  CHECK(added["providers"].size() == 2);
  CHECK(with_active_provider(added, "b").value()["active_provider"] == "b");
}

SCENARIO("a change that cannot be meant is refused with the field and the rule") {
  const auto refusal = [](std::string_view body) {
    const auto change = parse_provider_change(body);
    return change ? std::string{} : change.error().message;
  };
  CHECK(refusal("[]").find("JSON object") != std::string::npos);
  CHECK(refusal(R"({"token":"x"})").find("\"token\" is not known") != std::string::npos);
  CHECK(refusal(R"({"model":1})").find("\"model\" must be a text") != std::string::npos);
  CHECK(refusal(R"({"model":"a\nb"})").find("control characters") != std::string::npos);
  CHECK(refusal(R"({"base_url":"ftp://x"})").find("http://") != std::string::npos);
  CHECK(refusal(R"({"base_url":"https://u:p@x/y"})").find("user or password") != std::string::npos);
  CHECK(refusal(R"({"base_url":"https:///y"})").find("host") != std::string::npos);
  CHECK(refusal(R"({"model":")" + std::string(9000, 'm') + "\"}").find("8192")
        != std::string::npos);
  CHECK(refusal(R"({"base_url":"","auth_token":"","model":""})").empty());
  for (const auto& name : {std::string{}, std::string(65, 'n'), std::string{"a\x01"}})
    CHECK(with_provider(json::object(), name, {}).error().code == errc::invalid_argument);
}

SCENARIO("a provider that is not there cannot be made active") {
  const auto refused = with_active_provider(settings_of(R"({"providers":{"a":{},"b":{}}})"), "c");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::not_found);
  CHECK(refused.error().message.find(R"("a", "b")") != std::string::npos);
}
