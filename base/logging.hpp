#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace tidemark::logging {

enum class level { debug, info, warning, error };

/// Parses `debug`, `info`, `warning`, `error`.
expected<level> parse_level(std::string_view text);

/// Sets what is written to stderr, a line an entry. Callable from any thread.
void set_level(level lowest);

/// Writes one line: `2026-11-29T17:05:09.042Z info  storage: opened …`. Thread-safe.
/// Never pass prompts, tokens or environment values: the default level must hold no secret.
void write(level at, std::string_view component, std::string_view message);

template <class... Args>
void debug(std::string_view component, fmt::format_string<Args...> text, Args&&... args) {
  write(level::debug, component, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
void info(std::string_view component, fmt::format_string<Args...> text, Args&&... args) {
  write(level::info, component, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
void warning(std::string_view component, fmt::format_string<Args...> text, Args&&... args) {
  write(level::warning, component, fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
void error(std::string_view component, fmt::format_string<Args...> text, Args&&... args) {
  write(level::error, component, fmt::format(text, std::forward<Args>(args)...));
}

} // namespace tidemark::logging
