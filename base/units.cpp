#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace tidemark {
namespace {

struct unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array byte_units{unit{"GiB", 1ULL << 30},
                                unit{"MiB", 1ULL << 20},
                                unit{"KiB", 1ULL << 10},
                                unit{"GB", 1'000'000'000},
                                unit{"MB", 1'000'000},
                                unit{"KB", 1'000},
                                unit{"B", 1}};
constexpr std::array time_units{unit{"d", 86'400'000}, unit{"h", 3'600'000}, unit{"m", 60'000},
                                unit{"s", 1'000}, unit{"ms", 1}};

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// The number in front of a known unit, multiplied out; nothing if it does not fit.
template <std::size_t N>
std::optional<std::uint64_t> with_unit(std::string_view text, const std::array<unit, N>& units) {
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = whole_number(text.substr(0, digits));
  auto name = text.substr(digits);
  while (name.starts_with(' '))
    name.remove_prefix(1);
  const auto found =
    std::find_if(units.begin(), units.end(), [&](const unit& u) { return u.name == name; });
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value || found == units.end() || *value > largest / found->factor)
    return std::nullopt;
  return *value * found->factor;
}

template <std::size_t N>
std::string in_largest_unit(std::uint64_t value, const std::array<unit, N>& units,
                            std::size_t considered) {
  for (std::size_t i = 0; i < considered; ++i)
    if (value != 0 && value % units[i].factor == 0)
      return fmt::format("{}{}", value / units[i].factor, units[i].name);
  return fmt::format("{}", value);
}

} // namespace

expected<std::uint64_t> parse_bytes(std::string_view text) {
  if (const auto plain = whole_number(text))
    return *plain;
  if (const auto value = with_unit(text, byte_units))
    return *value;
  return fail(errc::invalid_argument,
              "must be a size like 64MiB, 512KiB, 1GiB, or a number of bytes");
}

std::string show_bytes(std::uint64_t bytes) {
  return in_largest_unit(bytes, byte_units, 3);
}

expected<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (const auto value = with_unit(text, time_units))
    return std::chrono::milliseconds{*value};
  return fail(errc::invalid_argument,
              "must be a duration with its unit, like 250ms, 30s, 10m, 2h or 90d");
}

std::string show_duration(std::chrono::milliseconds d) {
  if (d.count() <= 0)
    return "0s";
  return in_largest_unit(static_cast<std::uint64_t>(d.count()), time_units, time_units.size());
}

} // namespace tidemark
