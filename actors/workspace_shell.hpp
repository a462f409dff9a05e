#pragma once

#include "actors/alarm.hpp"
#include "actors/stream_clock.hpp"
#include "actors/workspace.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace tidemark {

using reply_promise = caf::typed_response_promise<reply_ptr>;
using bool_promise = caf::typed_response_promise<bool>;

inline reply_ptr reply_of(expected<answer> what) {
  return std::make_shared<const expected<answer>>(std::move(what));
}

/// Counts what one workspace adds to the figures, and takes it back when the workspace goes.
class workspace_metrics {
public:
  explicit workspace_metrics(instruments* into = nullptr) : into_(into) {}
  void recovered(const workspace_state& state);
  void committed(const std::vector<event_ptr>& events);
  void standing(const workspace_state& state);
  void withdraw();

private:
  void count(const event& e);

  instruments* into_;
  std::int64_t waiting_ = 0, running_ = 0, pending_ = 0;
  std::map<std::string, timestamp> queued_; // since when the unfinished turns wait
};

/// State of a workspace actor. Touched by its handlers only.
struct workspace_shell {
  static inline const char* name = "workspace";

  enum class phase {
    recovering, ///< commands wait; the log is read, or will be when its last answers are in
    ready,
    closing ///< told to end; goes when all is durable and the agent is gone
  };

  /// One input on its way: what it made waits for the log, behind those before it.
  struct transaction {
    bool appends = false;
    std::vector<effect> effects;
    std::optional<expected<answer>> answered;
    std::optional<reply_promise> asker;
    std::optional<bool_promise> credit;
  };

  workspace_actor::stateful_pointer<workspace_shell> self = nullptr;
  std::string id;
  workspace_deps deps;
  phase now_in = phase::recovering;
  stream_clock clock{now_utc(), std::chrono::steady_clock::now()};
  stream_info stream;      // as durable
  workspace_state working; // ahead of `stream` by what is in flight
  workspace_metrics figures;

  std::set<std::string> clients; // of `holds_result` turns
  std::map<std::string, std::map<std::string, std::string>>
    environments; // of unfinished turns: secrets

  std::map<std::string, position>
    places; // of the latest `turn.queued`, by turn; for repeated requests

  std::deque<transaction> in_flight;
  std::size_t unanswered = 0;   // appends that the log has not answered, also given up ones
  std::uint64_t generation = 0; // of the working state; answers to an older one count for nothing

  std::deque<std::pair<command_ptr, reply_promise>> waiting; // while recovering
  std::optional<error> refusal; // recovery failed; tried again at the next tick
  std::size_t failures = 0;     // in a row
  bool loading = false;
  bool stopping_session = false;

  alarm<timestamp> next_tick;
  std::optional<bool_promise> on_closed;
  std::optional<timestamp> closes_by; // clients may still say that they have their results
  bool snapshot_saved = false;
  bool durable_at_close = true;

  void start();

  // -- inputs (workspace.cpp) ------------------------------------------------
  void on_command(const command_ptr& what, reply_promise promise);
  void on_report(const session_report_ptr& what, bool_promise credit);
  void on_tick(std::uint64_t number);
  void on_idle(bool_promise promise);
  void on_stop(bool_promise promise);
  void on_session_down(const caf::down_msg& down);
  /// The actor ends now: nobody may be left waiting.
  void abandon(const error& why);

  // -- commits (workspace_commit.cpp) ----------------------------------------
  void take(decided out, std::optional<reply_promise> asker = {},
            std::optional<bool_promise> credit = {});
  /// `at_the_end`: the last snapshot, which no input waits for.
  void append(std::vector<new_event> events, std::vector<table_write> derived, bool ends_stream,
              bool at_the_end = false);
  void committed(const append_reply& reply, bool at_the_end);
  void follow_removal(const event& told);
  void settle_front();
  void fill_in(answer& what) const;
  void give_up(const error& why);

  // -- effects (workspace_effects.cpp) ---------------------------------------
  void run(const effect& what);
  void begin(session_begin what);
  void wake(timestamp when);
  void publish();
  void stop_session();

  // -- recovery and end (workspace_recovery.cpp) -----------------------------
  void recover();
  void retry_later();
  void load();
  void recovered(const expected<loaded_workspace>& loaded);
  void recovery_failed(const error& why);
  void serve_waiting();
  void close_if_done();

  /// The stream's time. Moves what is to happen later along if the wall clock was put forward.
  timestamp now();
  [[nodiscard]] bool can_load() const { return !loading && !stopping_session && unanswered == 0; }
  [[nodiscard]] bool at_rest() const;
  [[nodiscard]] bool is_queued(const std::string& turn) const;
  [[nodiscard]] bool has_session() const { return static_cast<bool>(deps.slot->session); }
};

} // namespace tidemark
