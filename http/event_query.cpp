#include "http/event_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tidemark {

namespace {

tl::unexpected<error> bad_parameter(std::string_view name, std::string_view rule) {
  return fail(errc::invalid_argument, fmt::format("query \"{}\": {}", name, rule));
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failed != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

expected<bool> flag(const request_parameters& with, const char* name) {
  const auto text = with.query(name).value_or("false");
  if (text == "true" || text == "1" || text.empty())
    return true;
  if (text == "false" || text == "0")
    return false;
  return bad_parameter(name, "must be true or false");
}

expected<std::optional<cursor>> cursor_of(const request_parameters& with) {
  auto name = std::string_view{"Last-Event-ID"};
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

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    if (end > 0)
      out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

} // namespace

event_form form_of(std::string_view accept) {
  if (accept.find("text/event-stream") != accept.npos)
    return event_form::frames;
  if (accept.find("application/x-ndjson") != accept.npos)
    return event_form::lines;
  return event_form::page;
}

bool event_query::wants(std::string_view type, std::string_view of_turn) const {
  if (!turn.empty() && of_turn != turn)
    return false;
  const auto fits = [&](std::string_view wanted) {
    return wanted.ends_with('*') ? type.starts_with(wanted.substr(0, wanted.size() - 1))
                                 : type == wanted;
  };
  return types.empty() || std::any_of(types.begin(), types.end(), fits);
}

expected<std::chrono::milliseconds> parse_wait(std::string_view text) {
  const auto in_milliseconds = text.ends_with("ms");
  if (in_milliseconds || text.ends_with('s'))
    text.remove_suffix(in_milliseconds ? 2 : 1);
  const auto value = number(text);
  if (!value || *value > 86'400'000)
    return bad_parameter("wait", "must be a time like 30s or 500ms");
  return std::chrono::milliseconds{in_milliseconds ? *value : *value * 1000};
}

expected<event_query> parse_event_query(const request_parameters& with,
                                        std::chrono::milliseconds max_wait) {
  event_query out;
  auto from = cursor_of(with);
  if (!from)
    return tl::make_unexpected(from.error());
  out.from = *from;
  if (const auto text = with.query("limit")) {
    const auto value = number(*text);
    if (!value || *value == 0)
      return bad_parameter("limit", "must be a number above 0");
    out.limit = *value;
  }
  out.types = split_list(with.query("types").value_or(""));
  out.turn = with.query("turn").value_or("");
  const auto raw = flag(with, "raw");
  const auto follow = flag(with, "follow");
  if (!raw || !follow)
    return tl::make_unexpected(raw ? follow.error() : raw.error());
  out.raw = *raw;
  out.follow = *follow;
  if (const auto text = with.query("wait")) {
    const auto wait = parse_wait(*text);
    if (!wait)
      return tl::make_unexpected(wait.error());
    out.wait = std::min(*wait, max_wait);
  }
  return out;
}

} // namespace tidemark
