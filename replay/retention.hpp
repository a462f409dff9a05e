#pragma once

#include "replay/retention_rules.hpp"
#include "replay/stream_outline.hpp"
#include "storage/removal_note.hpp"

#include <optional>

// What of a workspace's events is to be removed. Pure: the janitor (actors/janitor.hpp) carries it out.
namespace tidemark {

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
