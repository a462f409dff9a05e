#pragma once

#include "http/request_parameters.hpp"
#include "replay/cursor.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// How a reader takes events: chosen by its `Accept` header.
enum class event_form {
  page,  ///< one JSON object
  lines, ///< NDJSON: all up to the head, with `follow=true` on from there
  frames ///< server-sent events: replays, then follows
};
event_form form_of(std::string_view accept);

/// The parameters of `GET …/events` (docs/events.md, Native API).
struct event_query {
  static constexpr std::size_t default_limit = 1000;
  static constexpr std::size_t max_limit = 10'000;

  std::optional<cursor> from;       ///< empty: from the beginning, or where `consumer` is
  std::string consumer;             ///< empty: none
  std::optional<std::size_t> limit; ///< events in this answer
  std::vector<std::string> types;   ///< empty: all; `item.*` takes a family
  std::string turn;                 ///< empty: all
  bool raw = false;                 ///< with the agents' own lines
  bool follow = false;
  std::chrono::milliseconds wait{0}; ///< of a long poll

  [[nodiscard]] bool wants(std::string_view type, std::string_view of_turn) const;
};

/// Reads the request's parameters. `Last-Event-ID` wins over `after`, `last_event_id`, `lastEventId`.
/// A cursor wins over `consumer`, which is left empty then. Errors: `invalid_argument`, naming the parameter.
expected<event_query> parse_event_query(const request_parameters& with,
                                        std::chrono::milliseconds max_wait);

} // namespace tidemark
