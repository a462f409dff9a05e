#include "agents/provider_settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tidemark {

namespace {

constexpr std::size_t max_value_bytes = 8 << 10;
constexpr std::size_t max_name_bytes = 64;
constexpr std::array<const char*, 3> value_fields{"base_url", "auth_token", "model"};

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

tl::unexpected<error> broken(std::string_view what) {
  return fail(errc::unavailable, fmt::format("the settings file (SETTINGS_PATH) is broken: {}. "
                                             "Mend or remove it; nothing was changed",
                                             what));
}

tl::unexpected<error> refused(std::string_view field, std::string_view rule) {
  return fail(errc::invalid_argument, fmt::format("\"{}\" {}", field, rule));
}

/// A credential in a URL would be shown, logged and sent in ways that a token is not.
std::optional<std::string_view> fault_in_url(std::string_view url) {
  const auto scheme_end = url.find("://");
  const auto scheme = url.substr(0, scheme_end == url.npos ? 0 : scheme_end);
  if (scheme != "http" && scheme != "https")
    return "must begin with http:// or https://";
  const auto authority = url.substr(scheme_end + 3, url.find('/', scheme_end + 3) - scheme_end - 3);
  if (authority.empty())
    return "must name a host";
  if (authority.find('@') != authority.npos)
    return "must not hold a user or password: use \"auth_token\"";
  return std::nullopt;
}

expected<std::optional<std::string>> text_in(const json& body, const char* field) {
  const auto found = body.find(field);
  if (found == body.end())
    return std::nullopt;
  if (!found->is_string())
    return refused(field, "must be a text");
  auto text = found->get<std::string>();
  if (text.size() > max_value_bytes)
    return refused(field, fmt::format("is longer than {} bytes", max_value_bytes));
  if (has_control_characters(text))
    return refused(field, "must not hold control characters");
  return text;
}

const json& providers_of(const json& settings) {
  return object_at(settings, "providers");
}

json shown(const std::string& name, const json& provider) {
  auto out = json::object();
  out["name"] = string_or(provider, "name", name);
  out["base_url"] = string_or(provider, "base_url");
  const auto has_token = !string_or(provider, "auth_token").empty();
  out["auth_token"] = has_token ? masked_secret : std::string_view{};
  out["model"] = string_or(provider, "model");
  return out;
}

} // namespace

expected<json> parse_settings_file(const std::optional<std::string>& file) {
  if (!file)
    return json::object();
  auto parsed = parse_json(*file);
  if (!parsed)
    return broken(parsed.error().message);
  if (!parsed->is_object())
    return broken("it must hold a JSON object");
  const auto providers = parsed->find("providers");
  if (providers == parsed->end() || providers->is_null())
    return parsed;
  if (!providers->is_object())
    return broken("\"providers\" must be an object");
  for (const auto& [name, provider] : providers->items())
    if (!provider.is_object())
      return broken(fmt::format("provider \"{}\" must be an object", name));
  return parsed;
}

expected<provider_change> parse_provider_change(std::string_view body) {
  const auto parsed = parse_json(body);
  if (!parsed || !parsed->is_object())
    return fail(errc::invalid_argument, fmt::format("the body must be a JSON object with any of {}",
                                                    fmt::join(value_fields, ", ")));
  for (const auto& [field, value] : parsed->items())
    if (field != "name" && std::ranges::find(value_fields, field) == value_fields.end())
      return refused(field,
                     fmt::format("is not known; allowed are {}", fmt::join(value_fields, ", ")));
  provider_change change;
  for (auto [field, to] :
       {std::pair{"base_url", &change.base_url}, std::pair{"auth_token", &change.auth_token},
        std::pair{"model", &change.model}}) {
    auto text = text_in(*parsed, field);
    if (!text)
      return tl::unexpected{text.error()};
    *to = std::move(*text);
  }
  if (change.base_url && !change.base_url->empty())
    if (const auto fault = fault_in_url(*change.base_url))
      return refused("base_url", *fault);
  if (change.auth_token == masked_secret)
    change.auth_token.reset();
  return change;
}

expected<json> with_provider(json settings, const std::string& name,
                             const provider_change& change) {
  if (name.empty() || name.size() > max_name_bytes || has_control_characters(name))
    return fail(
      errc::invalid_argument,
      fmt::format("a provider's name has 1 to {} bytes and no control characters", max_name_bytes));
  if (!settings.contains("providers") || !settings["providers"].is_object())
    settings["providers"] = json::object();
  auto& provider = settings["providers"][name];
  if (!provider.is_object())
    provider = json::object();
  provider["name"] = string_or(provider, "name", name);
  if (change.base_url)
    provider["base_url"] = *change.base_url;
  if (change.auth_token)
    provider["auth_token"] = *change.auth_token;
  if (change.model)
    provider["model"] = *change.model;
  return settings;
}

expected<json> with_active_provider(json settings, const std::string& name) {
  const auto& providers = providers_of(settings);
  if (!providers.contains(name)) {
    std::vector<std::string> known;
    for (const auto& [each, provider] : providers.items())
      known.push_back('"' + each + '"');
    return fail(errc::not_found,
                fmt::format("there is no provider \"{}\"; there are: {}", name,
                            known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
  settings["active_provider"] = name;
  return settings;
}

json masked_settings(const json& settings) {
  auto out = json::object();
  out["active_provider"] = string_or(settings, "active_provider");
  out["timeout_ms"] = int_or(settings, "timeout_ms", 0);
  out["providers"] = json::object();
  for (const auto& [name, provider] : providers_of(settings).items())
    out["providers"][name] = shown(name, provider);
  return out;
}

} // namespace tidemark
