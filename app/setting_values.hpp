#pragma once

#include "base/error.hpp"
#include "base/units.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// How the values of settings are written. Every `parse_` answers `invalid_argument` with what is
// allowed; every `show_` gives text that its `parse_` reads back to the same value.
namespace tidemark {

/// A whole number in decimal within [lowest, highest].
expected<std::uint64_t> parse_number(std::string_view text, std::uint64_t lowest,
                                     std::uint64_t highest);

/// `true`, `false`, `1`, `0`, `yes`, `no`, `on`, `off`, in any case.
expected<bool> parse_toggle(std::string_view text);

/// Comma-separated; blanks around the items are dropped, empty items too.
std::vector<std::string> parse_list(std::string_view text);
std::string show_list(const std::vector<std::string>& items);

} // namespace tidemark
