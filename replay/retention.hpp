#pragma once

#include "base/error.hpp"
#include "base/json.hpp"
#include "replay/stream_outline.hpp"
#include "storage/removal_note.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

// What of a workspace's events is to be removed. Pure: the janitor (actors/janitor.hpp) carries it out.
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

/// The rules of one workspace that has its own, of the form above: what it does not name, or as null, is
/// as in `defaults`; 0 keeps everything.
retention_rules rules_with(retention_rules defaults, const json& own);

/// Whether `own` is of that form. Errors: `invalid_argument` with the member that is not.
expected<void> check_retention(const json& own);

/// A removal to be told and then carried out.
struct removal_plan {
  removal_note note;
  timestamp until; ///< when the last turn that is concerned ended
};

/// The turns to remove: whole ones from the front, none that is unfinished or whose result is not
/// delivered, and never the last. A turn that was queued while another ran goes together with it.
std::optional<removal_plan> plan_trim(const stream_outline& of, const retention_rules& rules,
                                      timestamp now);

/// The deltas to empty: those of completed items up to the end of the last turn that is old enough.
std::optional<removal_plan> plan_deltas(const stream_outline& of, const retention_rules& rules,
                                        timestamp now);

} // namespace tidemark
