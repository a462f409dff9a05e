#pragma once

#include "actors/agent_launch.hpp"
#include "actors/agent_output.hpp"
#include "actors/agent_runtime.hpp"
#include "actors/agent_timer.hpp"
#include "actors/session_protocol.hpp"
#include "agents/line_framer.hpp"
#include "process/child.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tidemark {

/// Runs the turns of one workspace in an agent process: the agent session without its actor.
///
/// Each begun turn is reported to have ended exactly once, whatever happens to the process. The
/// process stays up between turns and is replaced when its launch fingerprint or conversation is
/// not the wanted one. All members are called on the agents' I/O thread; so is the sink, which must
/// not call back. Destroying it kills the process tree.
class agent_runner {
public:
  /// Takes a report and what it weighs; `credit` with the same weight when it is durable.
  using report_sink = std::function<void(session_report_ptr, std::size_t weight)>;

  agent_runner(agent_runtime& runtime, std::string workspace, report_sink sink);
  ~agent_runner();
  agent_runner(const agent_runner&) = delete;
  agent_runner& operator=(const agent_runner&) = delete;

  /// Runs one turn. A second one while the first runs is refused: it ends as failed at once.
  void begin(session_begin_ptr what);
  void answer(const session_answer& what);
  /// Stops the running turn; without one it does nothing.
  void halt(stop_force how);
  /// Kills what lives and calls `gone` when it is gone, which may be at once. The running turn ends
  /// as interrupted.
  void stop(std::function<void()> gone);
  void credit(std::size_t weight);
  /// Ends the idle process to make room for another one's.
  void give_way();
  /// The begun turn that waits for room among the live processes may ask again.
  void room_made();

private:
  using clock = std::chrono::steady_clock;

  /// How a turn ends that the server stopped, whatever the dying agent says.
  struct forced_end {
    outcome how = outcome::cancelled;
    turn_error why;
  };
  struct active_turn {
    session_begin_ptr begin;
    bool ready = false;        ///< the agent has reported for this turn
    bool heard = false;        ///< it has said anything since the turn began
    bool kept = false;         ///< the process is that of the turn before
    bool acknowledged = false; ///< the in-band interrupt was heard
    std::optional<forced_end> forced;
  };
  /// Rungs of the ladder that ends a process, mildest first.
  enum class stage { none, interrupting, input_closed, terminated, killed };

  // -- start of turns: agent_runner.cpp ---------------------------------------
  session_begin_ptr in_its_conversation(session_begin_ptr what);
  void launch();
  [[nodiscard]] tl::expected<launch_plan, launch_problem> plan_for(const session_begin& what) const;
  [[nodiscard]] bool fits(const launch_plan& plan) const;
  bool spawn(const launch_plan& plan);
  void start_turn(const char* how);
  void end_waiting(outcome how, turn_error why);
  void stop_waiting();

  // -- output: agent_runner_output.cpp ----------------------------------------
  void on_stdout(std::string_view bytes);
  void on_line(std::string_view line, bool truncated, std::uint64_t full_size);
  void absorb(adapter_output out);
  void limit_noise(std::vector<agent_event>& events);
  void note_conversation(const std::string& now);
  void on_ready();
  void end_turn(turn_result end);
  [[nodiscard]] bool was_ending() const;
  void on_exit(child_exit how);
  void release_process();
  void flush(const std::string& turn);
  void flush() { flush(turn_ ? turn_->begin->turn : std::string{}); }
  void pause(bool paused);
  void watch_silence();

  // -- end of processes: agent_runner_stop.cpp --------------------------------
  void force(outcome how, std::string code, std::string message);
  void close_input();
  void terminate();
  void kill(const char* reason);
  void abandon();
  void end_process(const char* reason);
  void on_silence();
  void on_stdout_end();
  void watch_hearing();
  void on_hearing_due(std::size_t unread_before);
  void replace_deaf();
  void take_back_turn();

  agent_runtime& runtime_;
  std::string workspace_;
  report_sink sink_;

  // The live process and what belongs to it.
  std::unique_ptr<child> process_;
  std::unique_ptr<adapter> adapter_;
  std::optional<line_framer> framer_;
  redactor secrets_;
  delta_mask deltas_;
  text_tail tail_;
  std::string fingerprint_;
  std::string conversation_; ///< the agent's own id of it, as last heard
  /// The conversation that the agent left for a new one between turns: who has not heard of that
  /// yet still asks for this one.
  std::string left_;
  std::string left_for_;
  stage stage_ = stage::none;
  one_shot ladder_;
  one_shot idle_;
  one_shot room_;

  std::optional<active_turn> turn_;
  session_begin_ptr next_; ///< begun, waits for the old process to go
  clock::time_point begun_;
  std::set<std::string> open_asks_;
  one_shot silence_;
  one_shot mute_; ///< the agent has closed its stdout
  one_shot deaf_; ///< a kept agent does not read the new turn's prompt
  clock::time_point silent_at_;

  session_report report_; ///< what the current read has brought so far
  std::size_t noise_ = 0; ///< lines since the last turn began
  std::size_t unflushed_ = 0;
  std::size_t outstanding_ = 0;
  bool paused_ = false;
  std::function<void()> gone_;
};

} // namespace tidemark
