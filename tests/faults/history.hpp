#pragma once

#include "base/json.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tidemark::test {

/// One workspace as it looks from outside, over all lives of its server: what clients were told, and
/// the log, event by event, against the promises of docs/architecture.md. Every event is looked at
/// once, so a check after each of a thousand crashes costs what is new since the last one.
class history {
public:
  /// A reader was shown this event. The first problem found; empty if none.
  std::string shown(std::uint64_t offset, const std::string& data);
  /// A client was told that its turn is queued, at this offset.
  void acknowledged(const std::string& turn, std::uint64_t offset);
  /// A client was told that its shell is open.
  void acknowledged_shell(const std::string& shell);

  /// The next event of the log. The first promise that it breaks; empty if none.
  std::string take(const json& event);
  /// All of the log was taken: what anybody was shown or told must be in it. The first that is not.
  [[nodiscard]] std::string missing() const;
  /// Beyond that, nothing is under way: what was begun must have come to its end.
  [[nodiscard]] std::string unfinished(const std::set<std::string>& pending_results) const;

  /// The shells of the log: of each the data of its end, null while it is open.
  [[nodiscard]] const std::map<std::string, json>& shells() const { return shells_; }
  [[nodiscard]] std::uint64_t head() const { return head_; }
  [[nodiscard]] std::uint64_t turns() const { return turns_.size(); }
  /// Where a reader that was shown all of it so far goes on.
  [[nodiscard]] std::uint64_t reader_at() const { return reader_at_; }
  /// Turns that were queued and have not ended.
  [[nodiscard]] std::size_t open_turns() const {
    return queue_.size() + (running_.empty() ? 0 : 1);
  }

private:
  struct turn_state {
    std::uint64_t queued_at = 0;
    bool held = false; ///< its result is delivered or pending
    int completed = 0;
    int pending = 0;
    int delivered = 0;
  };

  std::string take_turn(const std::string& type, const std::string& turn, const json& event);
  std::string take_shell(const std::string& type, const json& event);
  std::string take_item(const std::string& type, const std::string& turn, const json& event);

  std::uint64_t head_ = 0;
  std::uint64_t reader_at_ = 0;
  std::vector<std::size_t> logged_;                   ///< what the log has, in short
  std::map<std::uint64_t, std::string> shown_;        ///< not compared with the log yet
  std::map<std::string, std::uint64_t> acknowledged_; ///< turn -> offset
  std::map<std::string, turn_state> turns_;
  std::set<std::string> acknowledged_shells_;
  std::map<std::string, json> shells_;
  std::set<std::string> keys_; ///< idempotency keys
  std::deque<std::string> queue_;
  std::string running_;
  std::map<std::string, std::string> open_items_; ///< item -> turn
};

} // namespace tidemark::test
