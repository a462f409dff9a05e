#pragma once

#include "agents/demo_arguments.hpp"
#include "agents/demo_channel.hpp"
#include "agents/demo_protocol.hpp"
#include "agents/demo_script.hpp"
#include "agents/demo_session.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Runs the prompts of one demo agent process: each is a script whose steps print protocol lines
/// and do what they say. Used by one thread; stdin is read beside it.
class demo_runner {
public:
  demo_runner(demo_arguments given, demo_session conversation, demo_protocol& lines,
              demo_input& input, demo_output& output, std::string config_directory);

  /// Runs turns until stdin ends. Returns the exit code: 1 if the last turn ended as an error.
  int run();
  /// Runs one turn. Returns the exit code.
  int run_once(const std::string& prompt);

private:
  struct tool_answer {
    std::string content;
    bool is_error = false;
  };
  struct open_task {
    std::string id;
    std::chrono::steady_clock::time_point due;
  };
  enum class consent { given, refused, interrupted };

  void run_turn(const std::string& prompt);
  bool run_step(const demo_step& step);
  bool run_speaking_step(const demo_step& step);
  bool run_failing_step(const demo_step& step);
  void run_fatal_step(const demo_step& step);

  // What the steps are made of. All return false if the turn was interrupted meanwhile.
  void begin();
  void print(std::string_view line);
  void print_partial(std::string_view line);
  bool say(const std::vector<std::string>& pieces, std::chrono::milliseconds between = {});
  bool say_block(const std::vector<std::string>& pieces, std::chrono::milliseconds between);
  bool call_tool(const std::string& name, const json& input, bool always_ask,
                 const std::function<tool_answer()>& run, const std::string& preamble = {});
  tool_answer answer_call(const std::string& name, const std::string& id, const json& input,
                          bool always_ask, const std::function<tool_answer()>& run);
  consent ask(const std::string& name, const std::string& id, const json& input,
              tool_answer& refusal);
  [[nodiscard]] bool needs_consent(const std::string& tool) const;
  void settle(demo_ending how);
  void settle_error_text(const std::string& text, const std::string& kind, const json& status);
  void settle_interrupted();

  bool run_command(const demo_step& step);
  bool ask_permission(const demo_step& step);
  bool ask_question(const demo_step& step);
  bool show_dialog(const demo_step& step);
  bool replay(const demo_step& step);
  bool start_background(const demo_step& step);
  void finish_background();
  bool overload(const demo_step& step);
  bool orphans(const demo_step& step);
  void rewrite_config(const demo_step& step);

  demo_arguments given_;
  demo_session conversation_;
  demo_protocol& lines_;
  demo_input& input_;
  demo_output& output_;
  std::string config_directory_;
  std::set<std::string> allowed_; ///< tools that a person has allowed for the conversation
  std::vector<open_task> tasks_;
  std::string prompt_;
  std::string last_text_;
  json updated_input_; ///< of the last request that was allowed
  std::optional<std::string> open_tool_;
  bool begun_ = false;
  bool settled_ = false;
  bool last_was_error_ = false;
  int request_serial_ = 0;
  int task_serial_ = 0;
};

/// SHA-256 in lower-case hex.
std::string demo_sha256(std::string_view bytes);

/// What the process can see of itself: argv, environment, cwd, pids, and its parent's environment
/// if the system lets it read that.
json describe_own_process();

} // namespace tidemark
