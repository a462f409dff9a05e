#pragma once

#include "actors/commands.hpp"
#include "actors/session_protocol.hpp"
#include "storage/event_log.hpp"

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// The workspace as an aggregate: decide(state, input) -> events + effects, evolve(state, event) -> state.
// Pure: time, ids and limits come as arguments. No actors, threads, clocks or I/O.
namespace tidemark {

/// Which requests of an agent wait for a person's decision.
enum class ask_people {
  never,  ///< the policy decides all
  denied, ///< those that the policy would deny
  all     ///< all that no stored rule allows
};

/// Limits and defaults that the core decides with.
struct workspace_rules {
  std::string path; ///< working directory, for describe_workspace
  std::string agent = "demo";
  policy rights = policy::agent;
  std::size_t max_queued = 1000; ///< further turns are refused as `too_large`
  std::size_t max_prompt_bytes = 32 << 20;
  std::size_t max_idempotency_keys = 1000;    ///< the oldest are forgotten
  std::size_t max_consumers = 100;            ///< of one workspace, webhooks included
  std::size_t auth_failures_before_pause = 3; ///< in a row, of the account; then the queue waits
  std::chrono::seconds pending_ttl{3600};
  std::chrono::seconds auth_pause{60}; ///< how long the queue waits before it tries again
  std::size_t snapshot_every = 512;    ///< events between snapshots: bounds recovery
  ask_people ask = ask_people::never;
  std::chrono::seconds permission_timeout{600}; ///< a request that nobody decides is denied then
  bool holds_turns = false;                     ///< queued turns stay queued (`server.passive`)
};

struct turn_record {
  std::string turn;
  std::string source;
  std::string prompt;
  std::string preview;
  std::string model;
  offset queued_at;
  timestamp enqueued;
  std::optional<timestamp> started;
  std::optional<std::chrono::seconds> timeout;
  restart_rule on_restart = restart_rule::interrupt;
  bool needs_environment = false; ///< it came with environment values, which are never stored
  bool holds_result = false;
  int attempt = 0;
  std::string idempotency_key;
  json metadata = json::object();
};

/// An idempotency key and the turn that it brought forth.
struct remembered_key {
  std::string key;
  std::string turn;
  std::string body_hash;
  offset at; ///< of its `turn.queued`
};

/// The turn that the agent's session was told to run and has not ended yet. It lives and dies with
/// this process: neither stored nor part of the history, so a recovered workspace has none.
struct session_hold {
  std::string turn;
  std::string resume; ///< the conversation that it was told to resume
  std::string heard;  ///< the conversation's id as the agent says it
  std::string interrupted_by;
  bool interrupting = false;
  bool reset = false; ///< the session was reset meanwhile: nothing is written back
};

/// An item that has started and not completed, with what its deltas said so far.
struct open_item {
  std::string turn;     ///< empty: it started between turns
  json item;            ///< as its `item.started` has it
  std::string text;     ///< the deltas, joined; at most max_event_text bytes
  std::size_t size = 0; ///< of all deltas
};

/// A request that a person was asked about, and how it was settled: for those who decide late.
struct settled_permission {
  std::string id;
  std::string decision;
  std::string by;
};

/// All that a workspace remembers. A value: equal event histories give equal states, but for
/// `held` and `consumers`, which no event tells of, and deadlines that `put_forward` moved.
struct workspace_state {
  std::string id;
  stream_id stream;
  epoch incarnation;
  offset head;
  timestamp created;
  timestamp last_time; ///< of the last event; time never goes back within a stream
  std::string agent;
  json metadata = json::object();
  std::string session; ///< the agent's conversation to resume; empty if none
  std::optional<std::vector<std::string>> tools;
  json mcp_servers = json::array(); ///< as the agent's last start told
  json retain = json::object();     ///< its own rules of retention (replay/retention.hpp)
  std::deque<turn_record> queue;
  std::optional<turn_record> running;
  std::map<std::string, open_item> open_items;                ///< by item id
  std::map<std::string, pending_permission> open_permissions; ///< by id
  std::deque<settled_permission> settled_permissions;         ///< oldest first
  std::vector<permission_rule> permission_rules;              ///< oldest first
  std::set<std::string> open_shells;
  std::map<std::string, pending_result> pending;     ///< by result id (the turn's id)
  std::map<std::string, pending_result> undelivered; ///< ended; its client is still taking it
  std::deque<remembered_key> idempotency;            ///< oldest first
  std::size_t auth_failures = 0;
  std::optional<timestamp> paused_until;
  offset snapshot_at;             ///< head of the last stored snapshot
  std::size_t snapshot_bytes = 0; ///< its size
  std::optional<session_hold> held;
  consumer_map consumers; ///< records of their own: neither in events nor in snapshots

  /// The turn that runs now as clients see it: started, or begun and about to start. Null if none,
  /// also while the process of a cancelled turn is still dying.
  [[nodiscard]] const turn_record* current() const;
  [[nodiscard]] bool is_begun(const turn_record& queued) const {
    return held && held->turn == queued.turn;
  }
  [[nodiscard]] bool busy() const { return running || !queue.empty(); }
};

/// What the shell must do once the events are durable.
struct start_turn {
  session_begin begin;
}; ///< environment is filled in by the shell
struct stop_turn {
  stop_force how;
};
struct answer_permission {
  session_answer what;
};
struct wake_at {
  timestamp when;
}; ///< send a tick then
struct publish_summary {};
using effect = std::variant<start_turn, stop_turn, answer_permission, wake_at, publish_summary>;

/// The outcome of one input.
struct decided {
  std::vector<new_event> events;
  std::vector<table_write> derived; ///< written with the events
  std::vector<effect> effects;      ///< run after the commit, in order
  std::optional<expected<answer>>
    reply; ///< to a command; sent after the commit if there are events
  bool ends_stream = false;
};

/// What outlived the recovery of a state because it is kept in memory beside it.
struct survivors {
  std::set<std::string> environments; ///< turns whose environment values are still known
  std::set<std::string> clients;      ///< `holds_result` turns that still have their client
  std::set<std::string> shells;       ///< shells that still run
};

/// Whether a submission is small enough to be kept: asked before a workspace is made for it.
/// Errors: `too_large` naming the limit.
expected<void> check_size(const submit_turn& what, std::size_t max_prompt_bytes);

/// The first use of a workspace: `workspace.created`. Precondition: `id`, `stream` and
/// `incarnation` of `working` are set.
decided create(workspace_state& working, const workspace_rules& rules, timestamp now);

/// One client command. `new_turn` is the id a submitted turn gets; `clients` says which
/// `holds_result` turns still have their client (not durable: a restart leaves none).
/// `working` is moved on at once, so that the next input sees it.
decided decide(workspace_state& working, const workspace_rules& rules, const command& what,
               const std::string& new_turn, std::set<std::string>& clients, timestamp now);

/// One report of the agent's session.
decided decide(workspace_state& working, const workspace_rules& rules, const session_report& report,
               const std::set<std::string>& clients, timestamp now);

/// Time has passed: turn timeouts, expired results, the end of a pause.
decided on_tick(workspace_state& working, const workspace_rules& rules,
                const std::set<std::string>& clients, timestamp now);

/// The wall clock was put forward by `by`: what is to happen later happens that much later, so that
/// nothing times out or expires for it. Not part of the history: a recovered workspace counts from
/// the times of its events.
void put_forward(workspace_state& working, std::chrono::nanoseconds by);

/// After recovery from the log: ends what was running when the server died (or runs it again if
/// its caller asked for that), closes its shells, makes undelivered results pending, fails queued
/// turns whose environment is lost, starts the next one.
decided on_recovered(workspace_state& working, const workspace_rules& rules, timestamp now,
                     const survivors& kept = {});

/// A supervised part failed and was started again: says so as an event.
decided on_fault(workspace_state& working, const workspace_rules& rules,
                 const std::string& component, const std::string& message, timestamp now);

/// Orderly shutdown: ends the running turn as `interrupted` and, as `cancelled`, what waits for a
/// client that holds on for its result; the rest of the queue stays for the next start.
decided on_shutdown(workspace_state& working, const workspace_rules& rules,
                    const std::set<std::string>& clients, timestamp now);

/// Applies one stored event. Total: unknown types and fields change nothing but head and time.
void evolve(workspace_state& state, const event_view& e);

/// Snapshot codec: `restore(snapshot(s))` is `s` but for `held` and `consumers`, with `snapshot_at` at its head and its size.
std::string snapshot(const workspace_state& state);
expected<workspace_state> restore(std::string_view text);

/// Keys of the records a workspace writes (storage table `meta` and `turns`).
namespace record_key {
std::string snapshot(stream_id stream);
std::string summary(std::string_view workspace);
/// Present while a workspace has work to do after a restart.
std::string active(std::string_view workspace);
/// Table `turns`: `<stream id BE><turn id>`; turn ids sort by time.
std::string turn(stream_id stream, std::string_view turn);
std::string turns_of(stream_id stream);
/// Prefixes of all summaries and of all active marks, for the start of the server.
inline constexpr std::string_view summaries = "summary/";
inline constexpr std::string_view actives = "active/";
} // namespace record_key

/// Codec of the `summary/<workspace>` record.
std::string to_record(const workspace_summary& summary);
expected<workspace_summary> summary_of(std::string_view record);
workspace_summary summarize(const workspace_state& state);

} // namespace tidemark
