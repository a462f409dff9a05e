#pragma once

#include "actors/consumer.hpp"
#include "agents/policy.hpp"
#include "base/json.hpp"
#include "replay/cursor.hpp"
#include "storage/event_log.hpp"
#include "storage/removal_note.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// What clients ask of a workspace, and what it answers. Plain values: the functional core
// (actors/workspace_core.hpp) decides on them without knowing of actors.
namespace tidemark {

/// What becomes of a running turn when the server dies under it.
enum class restart_rule { interrupt, retry };

/// Enqueue a turn. Answered once `turn.queued` is durable.
struct submit_turn {
  std::string turn; ///< a new id by which its sender can speak of it unanswered; empty: we choose
  std::string prompt;
  std::string source;          ///< the client's own key; `source_chat_key` of the v1 API
  std::string by;              ///< who asked: the name of a token
  std::string idempotency_key; ///< empty: none
  std::string body_hash;       ///< of the request, to tell a retry from a reuse of the key
  std::map<std::string, std::string> environment; ///< secrets of this turn: never stored or shown
  std::string model;
  restart_rule on_restart = restart_rule::interrupt;
  std::optional<std::chrono::seconds> timeout;
  json metadata = json::object();
  /// The result is held for its client: delivered by the stream, else pending (v1 API).
  bool holds_result = false;
};

struct submit_reply {
  std::string turn;
  offset at;
  position global;
  stream_info stream;
  std::size_t place = 0; ///< turns ahead of it, the running one included; 0: starts at once
  bool repeated = false; ///< the idempotency key was known: this is the earlier turn
};

/// Cancel exactly this turn, queued or running.
struct cancel_turn {
  std::string turn;
  std::string by;
};
/// Cancel what runs now; never the turn after it.
struct cancel_current {
  std::string by;
};
struct cancel_reply {
  bool cancelled = false; ///< false: nothing to cancel, or already over
  bool found = false;     ///< the turn is known and unfinished
};

/// Ask the agent in-band to stop the running turn; escalates after a grace time.
struct interrupt_turn {
  std::string turn;
  std::string by;
};

/// Forget the agent's conversation; the next turn starts a fresh one.
struct reset_session {
  std::string by;
};
struct reset_reply {
  std::optional<std::string> old_session;
};

struct describe_workspace {};
struct workspace_info {
  std::string id;
  std::string path;
  timestamp created;
  timestamp updated;
  std::optional<std::string> session;
  bool busy = false;
  std::optional<std::vector<std::string>> tools;
  json metadata = json::object();
  stream_info stream;
};

struct get_queue {};
struct queued_task {
  std::string turn;
  std::string source;
  std::string preview;
  timestamp enqueued;
  std::optional<timestamp> started;
  bool cancelling = false;
};
struct queue_reply {
  std::optional<queued_task> current;
  std::vector<queued_task> waiting;
};

/// The client of a `holds_result` turn has received all of it.
struct client_received {
  std::string turn;
};
/// The client of a `holds_result` turn is gone: a queued turn is dropped, a running one goes on and
/// its result becomes pending.
struct client_left {
  std::string turn;
};

struct get_pending {};
struct pending_result {
  std::string id;
  std::string turn;
  std::string source;
  std::string text;
  timestamp created;
  timestamp expires;
  bool is_error = false;
  std::string error_code;
};
struct pending_reply {
  std::vector<pending_result> results;
};
/// Remove results that their client has: `via` is `poll` or `ack`.
struct settle_pending {
  std::vector<std::string> ids;
  std::string via;
  std::string by;
};

/// A shell runs in the workspace: `shell.opened`. Answered once that is durable.
struct open_shell {
  std::string shell;
  std::vector<std::string> argv;
  std::string cwd;
  int pid = 0;
  std::string by;
};
/// It has ended: `shell.closed`, unless the log has that already.
struct close_shell {
  std::string shell;
  std::string reason; ///< `program`, `client`, `disconnect`, `idle`, `server`
  std::string by;     ///< with `client`: who asked
  int code = -1;      ///< exit code; -1 if it died by a signal
  int signal = 0;     ///< 0 if it exited
};
struct settle_reply {
  std::vector<std::string> ids; ///< those that were pending until now, each once
};

/// What a person says to a request of the agent.
enum class person_decision {
  allow,        ///< this once
  allow_always, ///< and store a rule that allows its like in this workspace
  deny
};
/// Decide on a request that waits for a person. The first decision counts.
struct decide_permission {
  std::string permission;
  person_decision what = person_decision::deny;
  std::string message;           ///< for the agent; may be empty
  json answers = json::object(); ///< of a question that is allowed: text of each question -> answer
  std::string by;                ///< who decides: the name of a token
};
struct decide_reply {
  bool first = false;   ///< false: it was settled before, as follows
  std::string decision; ///< `allow`, `deny`
  std::string by;
  std::string rule; ///< the rule that the decision stored; may be empty
};

struct get_permissions {};
/// A request of the agent that has no answer yet.
struct pending_permission {
  std::string id;
  std::string turn;
  bool is_question = false;
  json asked = json::object(); ///< the data of its event
  timestamp requested;
  std::optional<timestamp> expires; ///< then it is denied; unset: not put to a person
};
/// What a person has allowed for good in this workspace.
struct permission_rule {
  std::string id;
  std::string tool;
  std::string fingerprint; ///< of the input that it allows; empty: any
  std::string command;     ///< the beginning of that input's command, for people
  std::string by;
  timestamp since;
};
struct permissions_reply {
  std::vector<pending_permission> pending; ///< that wait for a person, oldest first
  std::vector<permission_rule> rules;
};
/// From now on its requests are put to people again.
struct remove_rule {
  std::string rule;
  std::string by;
};

/// Where a consumer begins, or a webhook begins anew.
enum class start_at { first, head, cursor };
struct consumer_start {
  start_at where = start_at::first;
  cursor after; ///< with `start_at::cursor`
};

/// Make a consumer unless it is there. With `push` it is a webhook, and one that is there is changed;
/// a consumer never becomes the other kind. Errors: `conflict` (also if there are `consumers.max`),
/// `fenced`, `ahead`.
struct put_consumer {
  struct webhook_change {
    std::string url;
    std::string secret;       ///< empty: as it is
    std::string fresh_secret; ///< for a new webhook without one
    std::optional<std::vector<std::string>> types;
    std::optional<std::size_t> max_attempts;
  };
  std::string name;
  consumer_start from;
  std::string by;
  std::optional<webhook_change> push = {};
};
/// Its reader has all up to here. A place behind the present one changes nothing. Answered once it is
/// durable. Errors: `not_found`, `fenced` (another epoch), `ahead`, `conflict` (a webhook's place is
/// not its receiver's to move).
struct ack_consumer {
  std::string name;
  cursor upto;
  std::optional<std::uint64_t> generation = {}; ///< from who delivers a webhook
};
struct delete_consumer {
  std::string name;
  bool pushes = false;
};
/// A webhook's event was tried in vain as often as allowed, or its receiver wants no more:
/// `webhook.dead`, and nothing is sent until it is revived.
struct bury_webhook {
  std::string name;
  std::uint64_t generation = 0;
  offset at; ///< the event
  std::size_t attempts = 0;
  std::string error;
};
/// Send again: from where it stands, or from another place.
struct revive_webhook {
  std::string name;
  std::optional<consumer_start> from;
};
struct consumer_reply {
  consumer now;
  stream_info stream; ///< as durable when it is answered
  bool created = false;
};

/// Retention is about to remove events: `events.removed`, with a snapshot that can do without them.
/// Refused as `conflict` if one of them is still needed.
struct remove_events {
  removal_note note;
  timestamp until; ///< when the last turn that is concerned ended
};

/// Change what of the workspace is kept: members of `retain` (replay/retention.hpp) that are given
/// replace what was; null goes back to the server's setting. `workspace.configured`, if it changes any.
struct configure_workspace {
  json retain = json::object();
  std::string by;
};
struct configure_reply {
  json retain = json::object(); ///< the workspace's own rules as they are now
};

struct done {}; ///< the answer of commands that only succeed or fail

using command =
  std::variant<submit_turn, cancel_turn, cancel_current, interrupt_turn, reset_session,
               describe_workspace, get_queue, client_received, client_left, get_pending,
               settle_pending, open_shell, close_shell, decide_permission, get_permissions,
               remove_rule, put_consumer, ack_consumer, delete_consumer, bury_webhook,
               revive_webhook, remove_events, configure_workspace>;
using answer = std::variant<done, submit_reply, cancel_reply, reset_reply, workspace_info,
                            queue_reply, pending_reply, settle_reply, decide_reply,
                            permissions_reply, consumer_reply, configure_reply>;

using command_ptr = std::shared_ptr<const command>;
using reply_ptr = std::shared_ptr<const expected<answer>>;

/// One line of the workspace list; kept by the directory, also for workspaces that are not active.
struct workspace_summary {
  std::string id;
  timestamp created;
  timestamp updated;
  std::optional<std::string> session;
  bool busy = false;
  std::optional<std::vector<std::string>> tools;
  json mcp_servers = json::array(); ///< `{"name","status","error"?}` as the agent's last start told
  std::size_t open_requests = 0;    ///< that wait for a person; not stored
  json retain = json::object();     ///< its own rules of retention
};
using summary_ptr = std::shared_ptr<const workspace_summary>;
using summaries_ptr = std::shared_ptr<const std::vector<workspace_summary>>;

} // namespace tidemark
