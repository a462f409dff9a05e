// The JSON files that people edit and the bodies that change them: a broken one is refused in words,
// what an agent gets can stand in an environment, and no token is ever shown.
// Input: which file (1 byte), a line with a provider's name, the file or body.
#include "agents/provider_settings.hpp"
#include "agents/settings_files.hpp"
#include "tests/fuzz/fuzz_input.hpp"

using namespace tidemark;
using tidemark::fuzz::require;

namespace {

void check_contribution(const expected<settings_contribution>& made) {
  if (!made)
    return require(made.error().code == errc::invalid_argument
                     && made.error().message.find(" is broken: ") != std::string::npos,
                   "a broken file is called one", made.error().message);
  for (const auto& [name, value] : made->environment) {
    require(!name.empty() && name.find_first_of(std::string_view{"=\0", 2}) == name.npos,
            "a variable has a name that an environment can hold", name);
    require(!value.empty() && value.find('\0') == value.npos,
            "and a value that an environment can hold", value);
  }
}

void check_masked(const json& settings) {
  const auto shown = masked_settings(settings);
  for (const auto& [name, provider] : shown.at("providers").items()) {
    const auto token = provider.at("auth_token").get<std::string>();
    require(token.empty() || token == masked_secret, "no token is shown", token);
  }
  require(parse_json(dump_json(shown)).has_value(), "an answer is JSON");
}

void check_change(std::string_view name, std::string_view body) {
  const auto change = parse_provider_change(body);
  if (!change)
    return require(change.error().code == errc::invalid_argument, "a bad change is called one");
  require(!change->auth_token || *change->auth_token != masked_secret, "a mask changes no token");
  const auto once = with_provider(json::object(), std::string{name}, *change);
  if (!once)
    return;
  const auto twice = with_provider(*once, std::string{name}, *change);
  require(twice.has_value() && *twice == *once, "the same change again changes nothing");
  const auto active = with_active_provider(*once, std::string{name});
  require(active.has_value(), "a provider that was added can be made active");
  check_masked(*active);
  check_contribution(read_provider_settings(dump_json(*active)));
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in{data, size};
  const auto which = in.number(1) % 5;
  const auto name = in.line();
  const std::string text{in.rest()};
  switch (which) {
  case 0: check_contribution(read_provider_settings(text)); break;
  case 1: check_contribution(read_project_settings(text)); break;
  case 2: check_contribution(read_mcp_config(text)); break;
  case 3: check_change(name, text); break;
  default:
    if (const auto settings = parse_settings_file(text))
      check_masked(*settings);
  }
  return 0;
}
