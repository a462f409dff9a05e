#include "replay/cursor.hpp"

#include <algorithm>
#include <charconv>

namespace tidemark {

namespace {

std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  constexpr std::uint64_t max = 0x7fff'ffff'ffff'ffffULL;
  const auto digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || !digits)
    return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size() || value > max)
    return std::nullopt;
  return value;
}

} // namespace

expected<cursor> cursor::parse(std::string_view text) {
  const auto malformed = [] {
    return fail(errc::invalid_argument,
                "a cursor is <epoch>-<offset> or <offset>, in decimal digits, for example 1-42");
  };
  const auto dash = text.find('-');
  const auto after = parse_decimal(dash == std::string_view::npos ? text : text.substr(dash + 1));
  if (!after)
    return malformed();
  cursor result;
  result.after = offset{*after};
  if (dash != std::string_view::npos) {
    const auto incarnation = parse_decimal(text.substr(0, dash));
    if (!incarnation)
      return malformed();
    result.incarnation = epoch{*incarnation};
  }
  return result;
}

std::string cursor::str() const {
  const auto number = std::to_string(after.value);
  return incarnation ? std::to_string(incarnation->value) + "-" + number : number;
}

std::string_view to_string(gap_reason reason) noexcept {
  switch (reason) {
  case gap_reason::other_epoch: return "epoch";
  case gap_reason::trimmed: return "trimmed";
  case gap_reason::ahead: return "ahead";
  }
  return "epoch";
}

resume_point resume_at(const std::optional<cursor>& asked, const stream_info& stream) {
  const auto start = stream.trimmed;
  if (!asked)
    return {start, std::nullopt, false};
  if (asked->incarnation && *asked->incarnation != stream.incarnation)
    return {start, gap_reason::other_epoch, false};
  if (asked->after > stream.head)
    return {stream.head, gap_reason::ahead, false};
  if (asked->after < stream.trimmed)
    return {start, gap_reason::trimmed, false};
  return {asked->after, std::nullopt, stream.ended && asked->after == stream.head};
}

} // namespace tidemark
