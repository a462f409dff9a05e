#include "agents/settings_files.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr const char* provider_file = "the settings file (SETTINGS_PATH)";
constexpr const char* project_file = "the workspace root's .claude/settings.json";
constexpr const char* mcp_file = "the workspace's .mcp.json";

expected<json> object_in(const std::string& text, const char* file) {
  auto parsed = parse_json(text);
  if (!parsed)
    return fail(errc::invalid_argument,
                fmt::format("{} is broken: {}", file, parsed.error().message));
  if (!parsed->is_object())
    return fail(errc::invalid_argument,
                fmt::format("{} is broken: it must hold a JSON object", file));
  return parsed;
}

bool is_present(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

void put(settings_contribution& to, const char* name, const std::string& value) {
  if (!value.empty())
    to.environment[name] = value;
}

/// Numbers and booleans are written as people write them in JSON; nothing else is a value.
std::optional<std::string> value_text(const json& value) {
  if (value.is_string())
    return value.get<std::string>();
  if (value.is_number() || value.is_boolean())
    return dump_json(value);
  return std::nullopt;
}

/// A token may be printed without the scheme that it stands behind.
void add_secret(settings_contribution& to, const std::string& value) {
  to.secrets.push_back(value);
  if (const auto space = value.find(' '); space != std::string::npos)
    to.secrets.push_back(value.substr(space + 1));
}

expected<settings_contribution> bounded(settings_contribution made, const char* file) {
  std::size_t bytes = 0;
  for (const auto& secret : made.secrets)
    bytes += secret.size();
  if (made.secrets.size() > most_secrets || bytes > most_secret_bytes)
    return fail(
      errc::invalid_argument,
      fmt::format("{} holds {} secrets of {} bytes in all: at most {} of {} bytes are taken", file,
                  made.secrets.size(), bytes, most_secrets, most_secret_bytes));
  return made;
}

} // namespace

bool holds_credentials(std::string_view url) {
  return url.find("://") != std::string_view::npos && url.find('@') != std::string_view::npos;
}

bool names_secret(const std::string& name) {
  constexpr std::array<std::string_view, 8> signs{"TOKEN",         "KEY",           "SECRET",
                                                  "PASSWORD",      "PASSWD",        "CREDENTIAL",
                                                  "AUTHORIZATION", "CUSTOM_HEADERS"};
  auto upper = name;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return std::ranges::any_of(signs,
                             [&](auto sign) { return upper.find(sign) != std::string::npos; });
}

expected<settings_contribution> read_provider_settings(const std::optional<std::string>& file) {
  settings_contribution made;
  if (!file)
    return made;
  const auto root = object_in(*file, provider_file);
  if (!root)
    return tl::unexpected{root.error()};
  if (is_present(*root, "providers") && !root->at("providers").is_object())
    return fail(errc::invalid_argument,
                fmt::format("{} is broken: \"providers\" must be an object", provider_file));
  if (const auto timeout = int_or(*root, "timeout_ms", 0); timeout > 0)
    made.environment["API_TIMEOUT_MS"] = std::to_string(timeout);
  // Every provider's token is a secret, also of those that are not active now.
  const auto& providers = object_at(*root, "providers");
  for (const auto& provider : providers)
    if (auto token = string_or(provider, "auth_token"); !token.empty())
      made.secrets.push_back(std::move(token));
  const auto active = string_or(*root, "active_provider");
  if (active.empty() || providers.empty())
    return made;
  const auto chosen = providers.find(active);
  if (chosen == providers.end() || !chosen->is_object())
    return fail(
      errc::invalid_argument,
      fmt::format(
        "{} is broken: \"active_provider\" names \"{}\", which \"providers\" does not hold",
        provider_file, active));
  put(made, "ANTHROPIC_BASE_URL", string_or(*chosen, "base_url"));
  put(made, "ANTHROPIC_AUTH_TOKEN", string_or(*chosen, "auth_token"));
  put(made, "ANTHROPIC_MODEL", string_or(*chosen, "model"));
  return made;
}

expected<settings_contribution> read_project_settings(const std::optional<std::string>& file) {
  settings_contribution made;
  if (!file)
    return made;
  const auto root = object_in(*file, project_file);
  if (!root)
    return tl::unexpected{root.error()};
  if (is_present(*root, "env") && !root->at("env").is_object())
    return fail(errc::invalid_argument,
                fmt::format("{} is broken: \"env\" must be an object", project_file));
  for (const auto& [name, value] : object_at(*root, "env").items()) {
    if (name.empty() || name.find('=') != std::string::npos || name.find('\0') != std::string::npos)
      return fail(errc::invalid_argument,
                  fmt::format("{} is broken: \"env\" holds a name that no environment can hold: {}",
                              project_file, quote_json(name)));
    const auto text = value_text(value);
    if (!text)
      return fail(errc::invalid_argument,
                  fmt::format("{} is broken: \"env\".\"{}\" must be a text", project_file, name));
    put(made, name.c_str(), *text);
    if (names_secret(name) || holds_credentials(*text))
      made.secrets.push_back(*text);
  }
  made.model = string_or(*root, "model");
  return bounded(std::move(made), project_file);
}

expected<settings_contribution> read_mcp_config(const std::optional<std::string>& file) {
  settings_contribution made;
  if (!file)
    return made;
  const auto root = object_in(*file, mcp_file);
  if (!root)
    return tl::unexpected{root.error()};
  const auto& servers = object_at(*root, "mcpServers");
  made.has_mcp_servers = !servers.empty();
  for (const auto& server : servers)
    for (const auto* place : {"env", "headers"})
      for (const auto& [name, value] : object_at(server, place).items())
        if (value.is_string() && names_secret(name))
          add_secret(made, value.get<std::string>());
  return bounded(std::move(made), mcp_file);
}

} // namespace tidemark
