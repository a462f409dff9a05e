#pragma once

#include "replay/retention_rules.hpp"
#include "replay/stream_outline.hpp"
#include "storage/removal_note.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

// What of a workspace's events is to be removed. Pure: the janitor (actors/janitor.hpp) carries it out.
namespace tidemark {

/// A removal to be told and then carried out.
struct removal_plan {
  removal_note note;
  timestamp until; ///< when the last turn that is concerned ended
};

/// Goes over the turns of a stream that may go, oldest first, and knows where the stream can be cut if
/// those that were taken are to go: at the end of a turn, so that turns go whole. A turn that was queued
/// while another ran goes together with it. A workspace whose queue is never empty has no such place: it is
/// cut before the first event of the next turn, once at least half of what was taken lies before that. What
/// is left of the turns before goes with a later cut (decision 035).
///
/// The outline must outlive it and stay as it is.
class trim_walk {
public:
  explicit trim_walk(const stream_outline& of) : of_(of) {}

  /// The next one to take; null at the last turn, at one that is unfinished and at one whose result is not
  /// delivered.
  [[nodiscard]] const outlined_turn* next() const;
  void take(); ///< Precondition: next()

  /// Bytes of events up to the end of what was taken.
  [[nodiscard]] std::uint64_t taken_bytes() const;
  /// Of these, how many the best cut removes; 0 if there is none.
  [[nodiscard]] std::uint64_t cut_bytes() const { return cut_ ? cut_->bytes : 0; }
  /// The removal by the best cut.
  [[nodiscard]] std::optional<removal_plan> plan(std::string reason, json policy) const;

private:
  struct cut {
    offset to;
    digest hash{};
    std::uint64_t bytes = 0;
    timestamp until;
  };

  const stream_outline& of_;
  std::size_t taken_ = 0;
  const outlined_turn* newest_ = nullptr; // which has the last event of those that were taken
  timestamp until_;
  std::optional<cut> cut_;
};

/// The turns to remove by the rules of one workspace.
std::optional<removal_plan> plan_trim(const stream_outline& of, const retention_rules& rules,
                                      timestamp now);

/// The deltas to empty: those of completed items up to the end of the last turn that is old enough.
std::optional<removal_plan> plan_deltas(const stream_outline& of, const retention_rules& rules,
                                        timestamp now);

} // namespace tidemark
