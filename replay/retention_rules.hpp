#pragma once

#include "base/error.hpp"
#include "base/json.hpp"

#include <chrono>
#include <cstdint>

namespace tidemark {

/// How much of one workspace is kept. A rule that is 0 keeps everything; a turn goes if any rule wants it.
struct retention_rules {
  std::chrono::milliseconds age{0}; ///< turns that ended longer ago go
  std::uint64_t bytes = 0; ///< of events' data and raw lines; the oldest turns beyond it go
  std::uint64_t turns = 0; ///< the oldest turns beyond so many go
  /// Deltas of completed items, if their turn ended longer ago, lose what they held.
  std::chrono::milliseconds deltas{0};

  [[nodiscard]] bool keep_all() const;
  friend bool operator==(const retention_rules&, const retention_rules&) = default;
};

/// The rules that are set: `age_s`, `bytes`, `turns`, `deltas_s`.
json to_json(const retention_rules& rules);

/// The rules of one workspace that has its own, as parse_retention answers them: what it does not name, or
/// as null, is as in `defaults`; 0 keeps everything.
retention_rules rules_with(retention_rules defaults, const json& own);

/// What a client wants the rules of a workspace to be, as they are stored: `age_s`, `bytes`, `turns`,
/// `deltas_s`, each a whole number or null. It may write `age` and `deltas` as settings do (`30d`), and
/// `bytes` as well (`10GB`). Errors: `invalid_argument` with the member that does not fit.
expected<json> parse_retention(const json& given);

/// `{"own", "server", "effective"}`: the rules of a workspace as they are stored, the server's, and what comes
/// of both. In the latter two nothing is absent, null keeps everything, and seconds are rounded up.
json describe_retention(const retention_rules& server, const json& own);

} // namespace tidemark
