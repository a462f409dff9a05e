#pragma once

#include "actors/agent_runtime.hpp"
#include "actors/agent_timer.hpp"
#include "actors/interfaces.hpp"
#include "agents/line_framer.hpp"
#include "process/child.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tidemark {

/// One probe of the agent's executable: version, then tools. Calls `done` once, within
/// `agent_options::probe_limit`, from the agents' I/O thread, never from inside start().
/// Destroying it kills what it started.
class agent_inquiry {
public:
  agent_inquiry(agent_runtime& runtime, std::function<void(probe_result)> done);

  void start();
  /// Ends early: `done` is called with what is known.
  void give_up(const std::string& problem);

private:
  static constexpr std::chrono::milliseconds version_limit{2000};
  static constexpr std::size_t max_version_bytes = 4096;

  void ask_version();
  void on_version(child_exit how);
  void ask_tools();
  void on_output(std::string_view bytes);
  void finish();
  bool run(child_options options, child::callbacks events);
  [[nodiscard]] std::optional<launch_plan> plan();

  agent_runtime& runtime_;
  std::function<void(probe_result)> done_;
  probe_result result_;
  std::optional<launch_plan> plan_;
  std::unique_ptr<child> process_;
  std::unique_ptr<adapter> adapter_;
  std::optional<line_framer> framer_;
  std::string output_;
  one_shot step_; ///< limit of the version's step
  one_shot whole_;
  one_shot finish_;
  bool finished_ = false;
};

} // namespace tidemark
