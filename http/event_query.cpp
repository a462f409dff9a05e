#include "http/event_query.hpp"

#include "actors/consumer.hpp"
#include "http/query_values.hpp"

#include <algorithm>

namespace tidemark {

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

expected<event_query> parse_event_query(const request_parameters& with,
                                        std::chrono::milliseconds max_wait) {
  event_query out;
  auto from = cursor_of(with);
  if (!from)
    return tl::make_unexpected(from.error());
  out.from = *from;
  if (const auto name = with.query("consumer")) {
    auto parsed = parse_consumer_name(*name);
    if (!parsed)
      return fail(errc::invalid_argument, "query \"consumer\"", parsed.error());
    if (!out.from)
      out.consumer = std::move(*parsed);
  }
  const auto limit = count_of(with, "limit");
  if (!limit)
    return tl::make_unexpected(limit.error());
  out.limit = *limit;
  out.types = list_of(with, "types");
  out.turn = with.query("turn").value_or("");
  const auto raw = flag_of(with, "raw");
  const auto follow = flag_of(with, "follow");
  if (!raw || !follow)
    return tl::make_unexpected(raw ? follow.error() : raw.error());
  out.raw = *raw;
  out.follow = *follow;
  const auto wait = wait_of(with, max_wait);
  if (!wait)
    return tl::make_unexpected(wait.error());
  out.wait = *wait;
  return out;
}

} // namespace tidemark
