#pragma once

#include "base/error.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark {

/// A moment in UTC with nanoseconds, as stored; the API shows milliseconds.
struct timestamp {
  std::int64_t nanoseconds = 0; ///< since 1970-01-01T00:00:00Z

  friend constexpr auto operator<=>(timestamp, timestamp) = default;
  [[nodiscard]] constexpr timestamp plus(std::chrono::nanoseconds d) const {
    return timestamp{nanoseconds + d.count()};
  }
  /// Seconds from `earlier` to this moment; negative if it lies before.
  [[nodiscard]] constexpr double seconds_since(timestamp earlier) const {
    return static_cast<double>(nanoseconds - earlier.nanoseconds) / 1e9;
  }
};

/// The wall clock. Only shells call it: the functional core takes the time as an argument.
timestamp now_utc();

/// RFC 3339 with milliseconds: `2026-11-29T17:05:09.042Z`.
std::string iso8601(timestamp t);

/// Reads RFC 3339: a date and a time with `Z` or an offset like `+02:00`, to the nanosecond, or a date
/// alone, which is its first moment in UTC. Errors: `invalid_argument`.
expected<timestamp> parse_iso8601(std::string_view text);

/// The same without an allocation. Every timestamp lies in a year of four digits, 1677 to 2262.
using iso8601_text = std::array<char, 24>;
iso8601_text iso8601_chars(timestamp t) noexcept;

} // namespace tidemark
