#pragma once

#include "app/settings.hpp"
#include "base/error.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// One setting: the only place that knows its names, its form and its meaning. Flags, environment,
/// tidemark.toml, `tidemark config`, its help and docs/operations.md all follow from the table.
struct setting {
  std::string key;     ///< `http.port`, as in tidemark.toml
  std::string allowed; ///< form or allowed values: `<number>`, `sync|os` …
  std::string text;    ///< one sentence for people
  std::vector<std::string> other_environment = {}; ///< fixed names beside `TIDEMARK_HTTP_PORT`
  std::vector<std::string> other_flags = {};       ///< `--port` beside `--http-port`
  bool secret = false; ///< masked in output; has no flag: arguments are public

  /// Reads `value` into its member. Errors: `invalid_argument` with what is allowed.
  std::function<expected<void>(settings&, std::string_view value)> read = {};
  /// The member as `read` takes it.
  std::function<std::string(const settings&)> show = {};

  [[nodiscard]] std::string flag() const;        ///< `--http-port`; empty if secret
  [[nodiscard]] std::string environment() const; ///< `TIDEMARK_HTTP_PORT`
};

/// What `allowed` says of settings that are on or off.
inline constexpr std::string_view toggle_values = "true|false";

/// All settings in the order people should read them.
std::span<const setting> all_settings();

/// The setting with that key, or null.
const setting* find_setting(std::string_view key);

/// The key that looks most like `key`, for "did you mean"; empty if none is close.
std::string closest_setting(std::string_view key);

/// The settings as a Markdown table: docs/operations.md holds exactly this text.
std::string settings_as_markdown();

} // namespace tidemark
