#pragma once

#include "base/json.hpp"
#include "base/time.hpp"
#include "storage/event.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// A universal event as an adapter makes it; the workspace gives it a turn and a place.
struct agent_event {
  std::string type; ///< `item.started`, `item.delta`, `session.started`, `agent.noise` …
  json data;
  shared_text raw = {}; ///< the agent's own line, on the first event that came from it
};

/// The agent waits for a decision about one tool call, or for the answers to its questions. Its
/// `permission.requested` or `question.requested` event stands in `adapter_output::events` already.
struct permission_ask {
  std::string id;   ///< ours; answered through adapter::answer
  std::string tool; ///< as the agent said it: decides, but may hold a secret
  json input;
  std::string shown_tool = {}; ///< the same for log and messages, if it does
  bool is_question = false;    ///< only a person's answers make it succeed
};

enum class decision { allow, deny };

enum class outcome { succeeded, failed, cancelled, interrupted };
std::string_view to_string(outcome o) noexcept;

/// Why a turn did not succeed.
struct turn_error {
  std::string
    code; ///< `CLAUDE_CLI_ERROR_RESULT`, `RATE_LIMITED`, `AUTHENTICATION_FAILED`, `SESSION_LOST` …
  std::string message; ///< never empty, never just "success"
  bool retryable = false;
  json details = json::object();
};

/// Token counts, normalised: `input` is uncached, `output` includes reasoning.
struct token_usage {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t cache_read = 0;
  std::int64_t cache_write = 0;
};

/// What the agent's protocol said about the end of a turn.
struct turn_result {
  outcome how = outcome::failed;
  std::string text;              ///< the final text; may be empty
  std::optional<turn_error> why; ///< set unless it succeeded
  std::string stop_reason;
  std::string ended_by; ///< who cancelled or interrupted it; empty if nobody did
  token_usage usage;
  std::string model;
  double cost_usd = 0; ///< of this turn alone
  json denials = json::array();
  bool session_lost = false; ///< the agent knows no such conversation: run again without resume
};

/// What one input made of an adapter.
struct adapter_output {
  std::vector<agent_event> events;
  std::vector<permission_ask> asks;
  std::vector<std::string> withdrawn;            ///< ids of asks that need no answer any more
  std::string replies;                           ///< bytes to write to the agent's stdin at once
  std::optional<turn_result> end;                ///< the turn is over
  std::optional<std::string> session;            ///< the agent's conversation id, when heard of
  std::optional<std::vector<std::string>> tools; ///< the agent's tool list, when heard of
  bool interrupt_acknowledged = false;
  std::chrono::milliseconds quiet_for{0}; ///< the agent announced a silence this long
};

/// How a process ended.
struct exit_status {
  int code = -1;  ///< exit code, -1 if it died by a signal
  int signal = 0; ///< 0 if it exited
};

/// One agent CLI's protocol as a pure state machine: bytes in, universal events and bytes out.
/// No I/O, no clock, no threads. Never throws, whatever the agent prints.
///
/// Keeps, whatever the agent does: every started item is completed before the turn's end (status
/// `interrupted` if it was left dangling), every permission asked is resolved or withdrawn, at most
/// one `end` a turn. What it inferred rather than heard carries `"synthetic": true`.
class adapter {
public:
  adapter() = default;
  adapter(const adapter&) = delete;
  adapter& operator=(const adapter&) = delete;
  virtual ~adapter() = default;

  /// Starts a turn. Returns the bytes to write to stdin.
  virtual std::string begin_turn(std::string_view prompt) = 0;

  /// One line of stdout without its line end; `truncated` if it was over the framer's limit and
  /// `line` holds only its beginning.
  virtual adapter_output on_line(std::string_view line, bool truncated,
                                 std::uint64_t full_size) = 0;

  /// The process has ended and all output was seen. Ends the turn if one is running.
  /// `stderr_tail` is bounded and already redacted.
  virtual adapter_output on_exit(exit_status how, std::string_view stderr_tail) = 0;

  /// Bytes that ask the agent to stop the current turn in-band.
  virtual std::string interrupt() = 0;

  /// Bytes that answer a permission ask; empty if the id is unknown or settled.
  virtual std::string answer(std::string_view permission, decision d, std::string_view message) = 0;

  /// Bytes that answer the questions of an ask: `answers` is an object, text of the question -> answer.
  /// Empty if the id is unknown or settled.
  virtual std::string answer_question(std::string_view permission, const json& answers) = 0;

  /// Closes what the turn left open (items, asks), for a turn that the server ends by itself.
  virtual adapter_output abandon_turn() = 0;

  /// Background tasks of the agent that are still running after the turn.
  [[nodiscard]] virtual std::size_t open_tasks() const = 0;
};

/// An adapter for one process of Claude Code. `resumed` is the conversation that the process was asked
/// to go on with (`--resume`), so that `session.started` and `session.lost` can name it; may be empty.
std::unique_ptr<adapter> make_claude_adapter(std::string_view resumed = {});

} // namespace tidemark
