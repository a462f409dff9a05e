#pragma once

#include "base/error.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

// How people write sizes and durations, in settings and in calls. Every `parse_` answers `invalid_argument`
// with what is allowed; every `show_` gives text that its `parse_` reads back to the same value.
namespace tidemark {

/// `64MiB`, `512KiB`, `1GiB`, or a number of bytes. `KB`, `MB`, `GB` are powers of ten.
expected<std::uint64_t> parse_bytes(std::string_view text);
std::string show_bytes(std::uint64_t bytes);

/// `250ms`, `30s`, `10m`, `2h`, `90d`. A number without a unit is refused: seconds and milliseconds are
/// too easily taken for each other.
expected<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string show_duration(std::chrono::milliseconds d);

} // namespace tidemark
