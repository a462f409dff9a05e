#pragma once

#include "storage/event_log.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tidemark {

/// What an auditor asks of the log over all workspaces: every condition that is given must hold.
struct audit_filter {
  std::vector<std::string> types;      ///< any of these; `item.*` takes a family
  std::vector<std::string> workspaces; ///< any of these, in all their incarnations
  std::string turn;
  std::string tool;               ///< calls of this tool and permissions for it
  std::string outcome;            ///< turns that ended so
  std::string text;               ///< stands in the event's data, letter for letter
  std::optional<timestamp> since; ///< not before this
  std::optional<timestamp> until; ///< before this
};

/// Whether an event is what a filter asks for.
class audit_matcher {
public:
  explicit audit_matcher(audit_filter what);

  [[nodiscard]] bool operator()(const event_view& e) const;
  [[nodiscard]] const audit_filter& filter() const { return filter_; }

private:
  audit_filter filter_;
  std::string stored_text_; ///< the text asked for, as it stands in the data of an event
};

/// One question to the log, answered in stretches, so that whoever asks can say how far it is and stop.
///
/// Conditions that the log has terms for are found by search; what is left of them, and questions
/// without such conditions, by looking at every event of the time asked for. Not thread-safe; blocks
/// on the disk.
class audit_query {
public:
  /// How far one stretch came.
  struct progress {
    position next;             ///< where the next one goes on
    std::size_t looked_at = 0; ///< events, whether they matched or not
    bool reached_end = false;  ///< nothing is left in the query's direction
  };

  /// A question about the past ends at the head of now; events that follow are for the next question.
  audit_query(const event_log& log, audit_filter what, direction way);

  /// Visits the events that match, from position `from` on, and stops after `limits.max_events`
  /// events were looked at, or of `limits.max_bytes`, or when the visitor says so.
  /// Errors: those of event_log::search.
  expected<progress> read(position from, read_limits limits, const event_visitor& visit);

  /// Where a reader without a place of its own starts: at the oldest or the newest event asked for.
  expected<position> start();

  /// How many events from `from` on are looked at one by one, for want of a condition that the log
  /// has terms for; 0 if it has. Errors: those of event_log::search.
  expected<std::uint64_t> to_look_at(position from);

private:
  /// Positions, both ends included; empty if `last` is before `first`.
  struct window {
    position first;
    position last;
  };

  expected<void> prepare();
  expected<void> narrow_by_turn();
  expected<void> add_type_group();
  [[nodiscard]] bool is_past(position at) const;

  const event_log& log_;
  const audit_matcher matches_;
  const direction way_;
  bool prepared_ = false;
  window window_;
  term_groups groups_; // empty: every event of the window is looked at
};

} // namespace tidemark
