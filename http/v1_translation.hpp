#pragma once

#include "actors/commands.hpp"
#include "base/json.hpp"
#include "storage/event.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// How one turn looks to a client of the workspace API v1 (contracts: workspace API v1, Streaming).
namespace tidemark {

/// One frame of a v1 stream. `body["type"]` is its kind.
struct v1_frame {
  std::string
    id; ///< `<epoch>-<offset>` of the event it follows from; empty if it follows from none
  json body;
};

/// Appends `id: …` (if there is one) and `data: …` with LF line ends only. The JSON holds no raw
/// line separator, so clients that split lines like Python's `str.splitlines()` lose nothing.
void append_v1_frame(std::string& out, const v1_frame& frame);

/// Why a task did not succeed, as the client is told.
struct v1_failure {
  std::string code;    ///< never empty
  std::string message; ///< never empty
  bool retryable = false;
  json details = nullptr;
};

/// Turns the events of one turn into v1 frames. Pure: no I/O, no clock; times come as arguments.
///
/// Promises
/// - The chunks joined are the result: every character of the agent's own text once, `"\n\n"`
///   between text blocks that a tool call separates, text of subagents left out, the final text
///   only if none of it was streamed.
/// - A `tool_call` stands before its `tool_result`.
/// - A turn that did not succeed, or that gave no text, ends with one `error` frame; every other
///   with one `done` frame. After either, `over()` is true and nothing follows.
/// - An agent that is not logged in ends with its words as text (the client recognises them).
/// - No chunk holds U+0000.
class v1_translation {
public:
  using clock = std::chrono::steady_clock;

  struct settings {
    std::string turn;
    std::string err_id; ///< of the error frame, if there will be one
    std::chrono::milliseconds proof_of_life{
      60'000}; ///< between two signs that a waiting task lives
  };

  v1_translation(settings how, clock::time_point now);

  /// Takes one event of the turn's stream, in order. Events of other turns give no frame.
  [[nodiscard]] std::vector<v1_frame> on_event(const event_view& e, clock::time_point now);

  /// Takes the queue as it stands: a `queued` frame if the task waits behind another one and its
  /// place is not the one last told.
  [[nodiscard]] std::vector<v1_frame> on_queue(const queue_reply& queue, timestamp wall_clock);

  /// Changes the `err_id` of an error frame still to come.
  void name_failure(std::string err_id) { how_.err_id = std::move(err_id); }
  /// Ends the stream for a reason outside of the turn's own events.
  [[nodiscard]] std::vector<v1_frame> on_failure(v1_failure why);

  /// An empty chunk if the client has seen no sign of a task that waits (in the queue or for a
  /// tool) for `proof_of_life`. The silence of the model itself gets none.
  [[nodiscard]] std::vector<v1_frame> on_time(clock::time_point now);
  /// When `on_time` has something to say; `time_point::max()` if nothing is due.
  [[nodiscard]] clock::time_point next_due() const;

  /// True if the last events may have moved the task's place in the queue. Asking clears it.
  [[nodiscard]] bool queue_moved();
  /// True once the agent works on the turn.
  [[nodiscard]] bool over() const { return over_; }
  /// Set once an `error` frame was made.
  [[nodiscard]] const std::optional<v1_failure>& failure() const { return failure_; }
  /// The agent's conversation; empty until it is known.
  [[nodiscard]] const std::string& session() const { return session_; }

private:
  /// What is known of an item between its start and its completion.
  struct open_item {
    std::string kind;
    bool ours = true;     ///< not a subagent's
    std::string streamed; ///< text of it that the client has
  };
  using frames = std::vector<v1_frame>;

  void on_item_started(const json& item, frames& out);
  void on_item_delta(const json& data, frames& out);
  void on_item_completed(const json& item, frames& out);
  void on_tool_call(const json& item, frames& out);
  void on_tool_result(const json& item, frames& out);
  void on_turn_completed(const json& data, frames& out);
  void add_text(open_item& block, std::string_view text, frames& out);
  void add_chunk(std::string_view text, frames& out);
  void finish(const json& turn, frames& out);
  void add_error(v1_failure why, frames& out);
  void add(json body, frames& out);

  settings how_;
  std::string event_id_; ///< of the event in hand
  clock::time_point now_;
  clock::time_point last_sign_; ///< the client's last `chunk` or `tool_*`
  bool queued_ = true;
  bool queue_moved_ = false;
  bool over_ = false;
  bool text_sent_ = false;
  bool call_since_text_ = false;
  std::size_t told_position_ = 0;
  std::string last_block_; ///< the last text block that is complete
  std::string session_;
  std::map<std::string, open_item> items_;
  std::set<std::string> calls_;      ///< tool calls that the client knows
  std::set<std::string> open_calls_; ///< those of them that have no result yet
  std::optional<v1_failure> failure_;
};

/// The content of a tool result as text: block lists are flattened, images named.
std::string flatten_content(const json& content);

} // namespace tidemark
