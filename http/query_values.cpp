#include "http/query_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tidemark {

tl::unexpected<error> bad_parameter(std::string_view name, std::string_view rule) {
  return fail(errc::invalid_argument, fmt::format("query \"{}\": {}", name, rule));
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failed != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

expected<std::optional<std::uint64_t>> count_of(const request_parameters& with, const char* name) {
  const auto text = with.query(name);
  if (!text)
    return std::optional<std::uint64_t>{};
  const auto value = parse_number(*text);
  if (!value || *value == 0)
    return bad_parameter(name, "must be a number above 0");
  return value;
}

expected<bool> flag_of(const request_parameters& with, const char* name) {
  const auto text = with.query(name).value_or("false");
  if (text == "true" || text == "1" || text.empty())
    return true;
  if (text == "false" || text == "0")
    return false;
  return bad_parameter(name, "must be true or false");
}

std::vector<std::string> list_of(const request_parameters& with, const char* name) {
  const auto given = with.query(name).value_or("");
  std::string_view text = given;
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    if (end > 0)
      out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

expected<std::chrono::milliseconds> parse_wait(std::string_view text) {
  const auto in_milliseconds = text.ends_with("ms");
  if (in_milliseconds || text.ends_with('s'))
    text.remove_suffix(in_milliseconds ? 2 : 1);
  const auto value = parse_number(text);
  if (!value || *value > 86'400'000)
    return bad_parameter("wait", "must be a time like 30s or 500ms");
  return std::chrono::milliseconds{in_milliseconds ? *value : *value * 1000};
}

expected<std::chrono::milliseconds> wait_of(const request_parameters& with,
                                            std::chrono::milliseconds longest) {
  const auto text = with.query("wait");
  if (!text)
    return std::chrono::milliseconds{0};
  const auto wait = parse_wait(*text);
  if (!wait)
    return tl::make_unexpected(wait.error());
  return std::min(*wait, longest);
}

expected<std::optional<cursor>> cursor_of(const request_parameters& with) {
  std::string_view name = "Last-Event-ID";
  auto text = with.header(name);
  for (const auto* parameter : {"after", "last_event_id", "lastEventId"}) {
    if (text && !text->empty())
      break;
    name = parameter;
    text = with.query(parameter);
  }
  if (!text || text->empty())
    return std::optional<cursor>{};
  auto parsed = cursor::parse(*text);
  if (!parsed)
    return fail(errc::invalid_argument, std::string{name}, parsed.error());
  return std::optional{*parsed};
}

} // namespace tidemark
