#pragma once

#include "actors/workspace_core.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tidemark {

/// Collects what one input makes of a workspace. Each event moves the working state on at once, by
/// the same `evolve` that recovery uses: so the two can never disagree.
class workspace_draft {
public:
  workspace_draft(workspace_state& working, const workspace_rules& rules, timestamp now);

  /// The state with all events so far.
  [[nodiscard]] workspace_state& state() { return state_; }
  [[nodiscard]] const workspace_rules& rules() const { return rules_; }
  /// Never before the last event of the stream.
  [[nodiscard]] timestamp now() const { return now_; }

  void emit(std::string_view type, std::string_view turn, const json& data, shared_text raw = {});
  void run(effect what) { out_.effects.push_back(std::move(what)); }
  void reply(expected<answer> what) { out_.reply.emplace(std::move(what)); }

  /// Keeps the turn's record in step; `end` is the data of its `turn.completed`, null before.
  void record(const turn_record& turn, std::string_view status, const json& end = nullptr);

  /// Puts or deletes a record that follows from no event; written with those there are, or alone.
  void write(table_write record) { out_.derived.push_back(std::move(record)); }
  /// Has a snapshot written with the events, however near the last one is.
  void save() { must_save_ = true; }

  /// Asks to be woken at the next deadline; done by finish() where deadlines may have changed.
  void schedule();

  /// Adds the records that follow from the events.
  decided finish();

private:
  void write_snapshot_if_due();

  workspace_state& state_;
  const workspace_rules& rules_;
  timestamp now_;
  decided out_;
  std::map<std::string, std::string> turns_; // by key; the last write of a batch counts
  bool standing_changed_ = false;            // more than the agent's output
  bool must_save_ = false;
};

/// Ends a turn that is queued or running: closes what it left open, writes its terminal event, and
/// makes its result pending unless its client is among `clients`.
void complete_turn(workspace_draft& d, const std::string& turn, const turn_result& result,
                   const std::set<std::string>& clients, std::optional<exit_status> exit = {},
                   shared_text raw = {});

/// Ends a turn that somebody, `by` if known, does not want any more.
void cancel_with(workspace_draft& d, const std::string& turn, const std::string& message,
                 const std::set<std::string>& clients, const std::string& by = {});

/// The id of the item that an `item.` event is about, from its data; empty if it names none.
std::string item_of(const json& data);

/// Completes items that nobody will complete any more, as interrupted and with the text that came:
/// those of `turn`, or all.
void close_items(workspace_draft& d, std::optional<std::string_view> turn = std::nullopt);

/// Resolves the permissions that nobody will answer any more.
void withdraw_open_permissions(workspace_draft& d, std::string_view by = "withdrawn",
                               std::string_view why = "the turn has ended");

/// Starts the next turn if the session is free and the queue does not pause.
void start_next(workspace_draft& d);

/// Puts the running turn back to the head of the queue, to be run again.
void queue_again(workspace_draft& d);

// The readers whose places are kept (workspace_consumers.cpp).
void on_consumer(workspace_draft& d, const put_consumer& what);
void on_consumer(workspace_draft& d, const ack_consumer& what);
void on_consumer(workspace_draft& d, const delete_consumer& what);
void on_consumer(workspace_draft& d, const bury_webhook& what);
void on_consumer(workspace_draft& d, const revive_webhook& what);

/// The turn with this id, queued or running; null if there is none.
const turn_record* find_turn(const workspace_state& state, std::string_view turn);

/// Attempts of one turn with `on_restart: retry`: a turn that brings the server down ends some time.
inline constexpr int max_attempts = 3;
/// A lookup ignores what is older than the limit in the rules; this bounds what is kept.
inline constexpr std::size_t max_remembered_keys = 10'000;
inline constexpr std::string_view authentication_failed = "AUTHENTICATION_FAILED";
inline constexpr std::string_view rate_limited = "RATE_LIMITED";
inline constexpr std::string_view task_cancelled = "TASK_CANCELLED";

/// True for failures of the account, which the next turn meets as well, whatever it asks for.
inline bool fails_for_all(std::string_view code) {
  return code == authentication_failed || code == rate_limited;
}

} // namespace tidemark
