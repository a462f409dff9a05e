#pragma once

#include "base/json.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

/// Writes to stdout without buffering, from any thread, whole calls at a time.
class demo_output {
public:
  void write(std::string_view bytes);
  /// From now on `bytes` go out in pieces of this size; 0: whole.
  void set_piece(std::size_t bytes) { piece_ = bytes; }

private:
  std::mutex mutex_;
  std::atomic<std::size_t> piece_{0};
};

/// Reads stdin on a thread of its own while turns run, so that interrupts and answers are taken at
/// once, and lets the turn wait for them. Thread-safe.
class demo_input {
public:
  /// Handles a `control_request` of the host other than `interrupt`; called on the reading thread.
  using request_handler = std::function<void(const std::string& request_id, const json& request)>;

  demo_input(demo_output& out, request_handler on_request);

  /// Starts the reading thread, which lives until the process ends.
  void start();

  /// Waits until a prompt has come or stdin has ended; false if it is still quiet at `until`.
  bool await_prompt(std::chrono::steady_clock::time_point until);
  /// The next prompt; empty once stdin has ended and all were taken.
  std::optional<std::string> next_prompt();

  /// Waits that long. False if the turn was interrupted meanwhile.
  bool pause(std::chrono::milliseconds limit);
  /// Waits for the `control_response` with this id. Empty if the turn was interrupted or stdin ended.
  std::optional<json> await_answer(const std::string& request_id);

  [[nodiscard]] bool interrupted() const { return interrupted_; }
  /// Readable once the turn is interrupted; for poll().
  [[nodiscard]] int interrupt_descriptor() const { return wake_; }
  /// The turn of the last prompt is over. An interrupt counts from the moment its prompt has
  /// arrived, even if the turn has not begun yet.
  void end_turn();
  /// While true, interrupts vanish without an answer.
  void lose_interrupts(bool lost) { losing_ = lost; }
  /// Stops reacting to interrupts and to the end of stdin.
  void become_deaf() { deaf_ = true; }

private:
  void read_all();
  void take_line(std::string_view line);
  void take_request(const json& message);
  void interrupt();
  void clear_interrupt();

  demo_output& out_;
  request_handler on_request_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> prompts_;
  std::map<std::string, json> answers_;
  bool ended_ = false;
  bool busy_ = false;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> losing_{false};
  std::atomic<bool> deaf_{false};
  int wake_ = -1;
};

} // namespace tidemark
