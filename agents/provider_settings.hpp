#pragma once

#include "base/error.hpp"
#include "base/json.hpp"

#include <optional>
#include <string>
#include <string_view>

// The settings file (SETTINGS_PATH) as clients see and change it: pure functions over its JSON.
// What it means for an agent is in agents/settings_files.hpp.
namespace tidemark {

/// What stands for a secret in an answer. Sent back, it leaves the secret as it is.
inline constexpr std::string_view masked_secret = "********";

/// What a client wants changed in one provider. Texts that are absent stay as they are, an empty one
/// sets nothing for agents.
struct provider_change {
  std::optional<std::string> base_url;
  std::optional<std::string> auth_token;
  std::optional<std::string> model;
};

/// The file's object; that of a fresh file if there is none. Errors: `unavailable` saying what is
/// broken: it is the file that has to be mended, not the request.
expected<json> parse_settings_file(const std::optional<std::string>& file);

/// Reads the body of a change. Errors: `invalid_argument` naming the field and what is allowed:
/// `base_url` is http(s) without user and password, nothing holds control characters or more than
/// 8 KiB, unknown fields are refused because a mistyped one would look like a success.
expected<provider_change> parse_provider_change(std::string_view body);

/// Adds the provider or changes it; what else the file holds is kept.
/// Errors: `invalid_argument` for a name that is empty, over 64 bytes, or has control characters.
expected<json> with_provider(json settings, const std::string& name, const provider_change& change);

/// Errors: `not_found` naming the providers that there are.
expected<json> with_active_provider(json settings, const std::string& name);

/// `{"active_provider","timeout_ms","providers":{name:{"name","base_url","auth_token","model"}}}`
/// with every token masked; fields that Tidemark does not know are left out, for they may be secret.
json masked_settings(const json& settings);

} // namespace tidemark
