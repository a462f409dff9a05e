#pragma once

#include "http/request_parameters.hpp"
#include "replay/audit_query.hpp"
#include "replay/cursor.hpp"

#include <chrono>
#include <cstddef>
#include <optional>

namespace tidemark {

/// The parameters of `GET /api/v1/events` (docs/events.md, Native API).
struct audit_request {
  audit_filter filter;
  direction way = direction::oldest_first;
  /// The last event the reader has, in its direction: a cursor over the whole log, whose epoch is the
  /// log's incarnation and whose offset is a position.
  std::optional<cursor> after;
  std::optional<std::size_t> limit;
  bool raw = false;                  ///< with the agents' own lines
  bool follow = false;               ///< lines go on with what comes, as frames always do
  bool progress = false;             ///< lines say how far the search is, once a second
  std::chrono::milliseconds wait{0}; ///< of a long poll
};

/// Where a reader of the whole log starts and what it must be told first.
struct audit_start {
  std::optional<position> from; ///< the first position to look at; empty: where the question begins
  std::optional<gap_reason> gap; ///< set if the reader cannot simply go on
};

/// Decides how a reader resumes: in a restored log, or beyond the head, it is told that the history is
/// another one. It then begins anew, or after the head.
audit_start resume_audit(const audit_request& what, epoch incarnation, position head);

/// Errors: `invalid_argument`, naming the parameter.
expected<audit_request> parse_audit_request(const request_parameters& with,
                                            std::chrono::milliseconds max_wait);

} // namespace tidemark
