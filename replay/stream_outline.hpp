#pragma once

#include "storage/event.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace tidemark {

/// A turn as retention sees it.
struct outlined_turn {
  std::string id;
  offset first;         ///< its `turn.queued`
  offset last;          ///< the newest event that belongs to it
  digest hash{};        ///< of event `last`
  digest hash_before{}; ///< of the event before `first`, if that is there
  timestamp ended;
  std::uint64_t bytes = 0;       ///< see stream_outline::bytes_up_to
  std::uint64_t start_bytes = 0; ///< see stream_outline::bytes_before
  bool over = false;             ///< its `turn.completed` is there
  bool holds_result = false;
  bool owes_result = false; ///< its result is held for a client that does not have it yet
};

/// Deltas of items that were complete when a turn ended, and that were not yet with the one before.
struct delta_stretch {
  offset first;
  offset last;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0; ///< of data and raw lines
  timestamp ended;         ///< when that turn did
};

/// The events of one stream in short: its turns, and where deltas are that can go. Made by one look at
/// all events, in order and with their raw lines, and brought up to date by those that follow. About 250
/// bytes a turn. Pure; not thread-safe.
class stream_outline {
public:
  /// Of a stream whose events up to `trimmed` are gone.
  explicit stream_outline(offset trimmed = {}) : trimmed_(trimmed), seen_(trimmed) {}

  void add(const event_view& e);

  [[nodiscard]] offset trimmed() const { return trimmed_; }
  [[nodiscard]] offset seen() const { return seen_; } ///< the last event that was added
  /// By their first event.
  [[nodiscard]] const std::deque<outlined_turn>& turns() const { return turns_; }
  [[nodiscard]] const std::deque<delta_stretch>& deltas() const { return deltas_; }
  /// Of the data and raw lines of the events that are there.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_ - std::min(bytes_, gone_bytes_); }
  /// Of these, from the first event that is there to the turn's last one.
  [[nodiscard]] std::uint64_t bytes_up_to(const outlined_turn& turn) const;
  /// Likewise, to the event before the turn's first one.
  [[nodiscard]] std::uint64_t bytes_before(const outlined_turn& turn) const;
  /// Items whose end is still to come: what their deltas hold must stay.
  [[nodiscard]] bool is_open(const std::string& item) const { return open_.contains(item); }

  /// Removals that the stream tells of and that were not carried out, or not wholly.
  [[nodiscard]] std::optional<offset> owed_trim() const;
  [[nodiscard]] std::optional<std::pair<offset, offset>> owed_deltas() const;

  /// Retention has removed the events up to `last`, which is where a turn ends or one before a turn begins.
  /// A turn whose beginning went is gone: what may be left of it counts as standing between turns.
  void forget_events(offset last);
  /// Retention has emptied the deltas up to `last`.
  void forget_deltas(offset last);

private:
  outlined_turn* find(std::string_view id);
  void follow_turn(const event_view& e);
  void follow_deltas(const event_view& e);
  void close_stretch(timestamp ended);

  offset trimmed_;
  offset seen_;
  digest last_hash_{};           // of event `seen_`
  std::uint64_t bytes_ = 0;      // of all that was added
  std::uint64_t gone_bytes_ = 0; // of these
  std::deque<outlined_turn> turns_;
  std::unordered_map<std::string, std::uint64_t> places_; // turn -> its place since the beginning
  std::uint64_t forgotten_turns_ = 0;
  std::map<std::string, delta_stretch, std::less<>> open_; // items, with their deltas so far
  delta_stretch ready_; // of items that are complete, in the turn that runs
  std::deque<delta_stretch> deltas_;
  offset told_trim_;
  offset told_deltas_;
};

} // namespace tidemark
