#pragma once

#include "http/request_parameters.hpp"
#include "replay/audit_query.hpp"

#include <chrono>
#include <cstddef>
#include <optional>

namespace tidemark {

/// The parameters of `GET /api/v1/events` (docs/events.md, Native API).
struct audit_request {
  audit_filter filter;
  direction way = direction::oldest_first;
  std::optional<position> after; ///< the last event the reader has, in its direction
  std::optional<std::size_t> limit;
  bool raw = false;                  ///< with the agents' own lines
  bool follow = false;               ///< lines go on with what comes, as frames always do
  bool progress = false;             ///< lines say how far the search is, once a second
  std::chrono::milliseconds wait{0}; ///< of a long poll

  /// The first position to look at, if the reader has been somewhere.
  [[nodiscard]] std::optional<position> resume() const;
};

/// Errors: `invalid_argument`, naming the parameter.
expected<audit_request> parse_audit_request(const request_parameters& with,
                                            std::chrono::milliseconds max_wait);

} // namespace tidemark
