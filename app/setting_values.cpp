#include "app/setting_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tidemark {

expected<std::uint64_t> parse_number(std::string_view text, std::uint64_t lowest,
                                     std::uint64_t highest) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < lowest
      || value > highest)
    return fail(errc::invalid_argument,
                fmt::format("must be a whole number from {} to {}", lowest, highest));
  return value;
}

expected<bool> parse_toggle(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  for (const auto yes : {"true", "1", "yes", "on"})
    if (lower == yes)
      return true;
  for (const auto no : {"false", "0", "no", "off"})
    if (lower == no)
      return false;
  return fail(errc::invalid_argument, "must be true or false");
}

std::vector<std::string> parse_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    auto item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const auto first = item.find_first_not_of(" \t");
    if (first == std::string_view::npos)
      continue;
    item = item.substr(first, item.find_last_not_of(" \t") - first + 1);
    items.emplace_back(item);
  }
  return items;
}

std::string show_list(const std::vector<std::string>& items) {
  return fmt::format("{}", fmt::join(items, ","));
}

} // namespace tidemark
