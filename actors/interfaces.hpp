#pragma once

#include "actors/commands.hpp"
#include "actors/delivery_trouble.hpp"
#include "actors/session_protocol.hpp"
#include "actors/shell_protocol.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <string>

// Every actor of the server with the messages it takes: this page is the architecture.
//
// Spelling is CAF 0.17: atoms of at most ten characters, replies_to<…>::with<…>. Payloads travel as
// shared_ptr<const T>: nothing is copied, nothing shared is mutable. All actors live in one process.
namespace tidemark {

using append_atom = caf::atom_constant<caf::atom("append")>;
using flush_atom = caf::atom_constant<caf::atom("flush")>;
using recover_atom = caf::atom_constant<caf::atom("recover")>;
using command_atom = caf::atom_constant<caf::atom("command")>;
using report_atom = caf::atom_constant<caf::atom("report")>;
using route_atom = caf::atom_constant<caf::atom("route")>;
using list_atom = caf::atom_constant<caf::atom("list")>;
using summary_atom = caf::atom_constant<caf::atom("summary")>;
using begin_atom = caf::atom_constant<caf::atom("begin")>;
using answer_atom = caf::atom_constant<caf::atom("answer")>;
using halt_atom = caf::atom_constant<caf::atom("halt")>;
using stop_atom = caf::atom_constant<caf::atom("stop")>;
using tick_atom = caf::atom_constant<caf::atom("tick")>;
using restart_atom = caf::atom_constant<caf::atom("restart")>;
using idle_atom = caf::atom_constant<caf::atom("idle")>;
using probe_atom = caf::atom_constant<caf::atom("probe")>;
using open_atom = caf::atom_constant<caf::atom("open")>;
using attach_atom = caf::atom_constant<caf::atom("attach")>;
using read_atom = caf::atom_constant<caf::atom("read")>;
using input_atom = caf::atom_constant<caf::atom("input")>;
using resize_atom = caf::atom_constant<caf::atom("resize")>;
using leave_atom = caf::atom_constant<caf::atom("leave")>;
using changed_atom = caf::atom_constant<caf::atom("changed")>;
using wake_atom = caf::atom_constant<caf::atom("wake")>;
using delivered_atom = caf::atom_constant<caf::atom("delivered")>;
using close_atom = caf::atom_constant<caf::atom("close")>;
using remove_atom = caf::atom_constant<caf::atom("remove")>;
using step_atom = caf::atom_constant<caf::atom("step")>;
using forget_atom = caf::atom_constant<caf::atom("forget")>;

/// The outcome of one append with the events as they now stand in the log.
struct append_reply {
  append_result result;
  std::vector<event_ptr> events; ///< empty unless appended
};
using append_ptr = std::shared_ptr<const append_request>;
using append_reply_ptr = std::shared_ptr<const append_reply>;

/// One step of a removal by retention, and what came of it.
using removal_ptr = std::shared_ptr<const removal>;
using removal_reply_ptr = std::shared_ptr<const expected<removed>>;

/// The agent's capabilities as last heard of.
struct probe_result {
  std::optional<std::vector<std::string>> tools;
  std::string agent_version; ///< empty if unknown
  bool available = false;
  std::string problem; ///< why it is not available, with the path that was tried
};
using probe_ptr = std::shared_ptr<const probe_result>;

/// What a turn changed, as a patch.
using patch_ptr = std::shared_ptr<const expected<std::string>>;
using turn_ids_ptr = std::shared_ptr<const std::vector<std::string>>;
using forgotten_ptr = std::shared_ptr<const expected<void>>;

} // namespace tidemark

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::append_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::append_reply_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::command_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::reply_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::session_begin_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::session_answer_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::session_report_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::summary_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::summaries_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::probe_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::patch_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::turn_ids_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::forgotten_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::stop_force)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::shell_request_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::shell_info_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::shell_list_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::shell_client_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::shell_attachment_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::shell_piece_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::terminal_size)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::shared_text)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::removal_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::removal_reply_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::delivery_troubles_ptr)

namespace tidemark {

/// Owns the order of the log (one, own thread): collects the appends that arrive while a commit
/// runs, commits them together, publishes them to the hub, then answers each.
using log_writer_actor = caf::typed_actor<
  /// Append; answered when durable and published, or refused.
  caf::replies_to<append_atom, append_ptr>::with<append_reply_ptr>,
  /// Internal: end of a batch.
  caf::reacts_to<flush_atom>,
  /// Internal: try to accept again after a failure.
  caf::reacts_to<recover_atom>,
  /// Remove what an event has told of, between two commits.
  caf::replies_to<remove_atom, removal_ptr>::with<removal_reply_ptr>,
  /// Commit what is waiting, answer true, end.
  caf::replies_to<stop_atom>::with<bool>>;

/// One workspace: its state, its queue, one turn at a time.
using workspace_actor = caf::typed_actor<
  /// What clients ask (actors/commands.hpp).
  caf::replies_to<command_atom, command_ptr>::with<reply_ptr>,
  /// What the agent's session tells; answered when it is durable, which is the session's credit.
  caf::replies_to<report_atom, session_report_ptr>::with<bool>,
  /// Timer: turn timeouts, expiry of pending results. With the tick's number (actors/alarm.hpp).
  caf::reacts_to<tick_atom, std::uint64_t>,
  /// Passivation check: true if it was idle, has saved its snapshot and ends now.
  caf::replies_to<idle_atom>::with<bool>,
  /// Shutdown: ends the running turn as interrupted, stops the agent, answers true when durable.
  caf::replies_to<stop_atom>::with<bool>>;

/// Holds one workspace's agent process (pinned to the agents' I/O thread).
using agent_session_actor =
  caf::typed_actor<caf::reacts_to<begin_atom, session_begin_ptr>,
                   caf::reacts_to<answer_atom, session_answer_ptr>,
                   /// Stop the running turn.
                   caf::reacts_to<halt_atom, stop_force>,
                   /// Kill what lives, answer true when the process is gone, end.
                   caf::replies_to<stop_atom>::with<bool>>;

/// Name -> workspace (one): creation, activation, passivation, restart after a fault.
using directory_actor = caf::typed_actor<
  /// Hands a command to the workspace; creates it if `create`, else `not_found`.
  caf::replies_to<route_atom, std::string, bool, command_ptr>::with<reply_ptr>,
  caf::replies_to<list_atom>::with<summaries_ptr>,
  /// A workspace says how it stands.
  caf::reacts_to<summary_atom, summary_ptr>,
  /// Timer: passivation, ticks of active workspaces.
  caf::reacts_to<tick_atom>,
  /// Internal: start a workspace again after a fault.
  caf::reacts_to<restart_atom, std::string>,
  /// Shutdown of all workspaces; true when all are durable and their agents gone.
  caf::replies_to<stop_atom>::with<bool>>;

/// Asks the agent's CLI for its version and tools (one, on the agents' I/O thread).
using agent_probe_actor = caf::typed_actor<
  /// The last result, at once.
  caf::replies_to<list_atom>::with<probe_ptr>,
  /// Probe now; bounded in time.
  caf::replies_to<probe_atom>::with<probe_ptr>, caf::replies_to<stop_atom>::with<bool>>;

/// Reads what turns changed from what was recorded of them, and removes it (one, on the agents' I/O thread).
using patch_reader_actor = caf::typed_actor<
  /// Of a workspace and a turn; bounded in time.
  caf::replies_to<read_atom, std::string, std::string>::with<patch_ptr>,
  /// Remove what was recorded of these turns of a workspace (most_forgotten at most); bounded in time.
  caf::replies_to<forget_atom, std::string, turn_ids_ptr>::with<forgotten_ptr>,
  caf::replies_to<stop_atom>::with<bool>>;

/// Removes what is not to be kept any more (one, own thread of low priority): looks at one workspace
/// after the other, has it tell of the removal, then has the log writer carry it out, in small steps.
using janitor_actor = caf::typed_actor<
  /// Timer: look at all workspaces.
  caf::reacts_to<tick_atom>,
  /// Internal: go on with the one at hand.
  caf::reacts_to<step_atom>, caf::replies_to<stop_atom>::with<bool>>;

/// One terminal with its program, its scrollback and its clients (on the shells' I/O thread). Clients
/// read it by asking again and again, which is what the terminal's pace follows: a sleeping one is
/// woken through its shell_client. Ends by itself once it is over and nobody wants its end any more.
using shell_actor = caf::typed_actor<
  /// Start; answered once `shell.opened` is durable.
  caf::replies_to<open_atom, shell_request_ptr>::with<shell_info_ptr>,
  caf::replies_to<attach_atom, shell_client_ptr>::with<shell_attachment_ptr>,
  /// The client's next piece, at once. Asking says that it has the one before.
  caf::replies_to<read_atom, std::uint64_t>::with<shell_piece_ptr>,
  /// Typed by a client. Answered once there is room for more; false if the shell takes nothing any more.
  caf::replies_to<input_atom, std::uint64_t, shared_text>::with<bool>,
  caf::reacts_to<resize_atom, std::uint64_t, terminal_size>,
  /// A client is gone; without `keep` and as the last one it takes the shell along.
  caf::reacts_to<leave_atom, std::uint64_t>,
  /// End it, for a reason and on whose behalf; true when its processes are gone and `shell.closed` is
  /// durable.
  caf::replies_to<close_atom, std::string, std::string>::with<bool>>;

/// All shells (one, on the shells' I/O thread): limits, list, id -> shell.
using shells_actor = caf::typed_actor<
  caf::replies_to<open_atom, shell_request_ptr>::with<shell_info_ptr>,
  caf::replies_to<list_atom>::with<shell_list_ptr>,
  /// End this one, on whose behalf. False if there is no such shell.
  caf::replies_to<close_atom, std::string, std::string>::with<bool>,
  caf::replies_to<attach_atom, std::string, shell_client_ptr>::with<shell_attachment_ptr>,
  /// Shutdown: ends every shell and opens none; true when all are gone and the log has it. Their
  /// clients can still read up to the end.
  caf::replies_to<stop_atom>::with<bool>>;

/// Sends events to webhooks (one, own thread, which may wait for the disk): reads the log, keeps one
/// event a webhook on its way, tells the workspaces how far each is.
using webhooks_actor = caf::typed_actor<
  /// A client changed a webhook: workspace, name.
  caf::reacts_to<changed_atom, std::string, std::string>,
  /// Which webhooks of the workspace fail, and how.
  caf::replies_to<list_atom, std::string>::with<delivery_troubles_ptr>,
  /// Internal: the workspace has new events.
  caf::reacts_to<wake_atom, std::string>,
  /// Internal: a delivery by its number has ended, with a status (0: none came) and what went wrong.
  caf::reacts_to<delivered_atom, std::uint64_t, int, std::string>,
  /// Timer: retries. With the tick's number (actors/alarm.hpp).
  caf::reacts_to<tick_atom, std::uint64_t>,
  /// Shutdown: gives up what is on its way, answers true, ends.
  caf::replies_to<stop_atom>::with<bool>>;

/// A client's place at a shell.
struct shell_attachment {
  shell_actor shell;
  std::uint64_t client = 0;
};

} // namespace tidemark
