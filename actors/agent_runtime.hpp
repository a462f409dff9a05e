#pragma once

#include "actors/agent_options.hpp"
#include "agents/adapter.hpp"
#include "agents/launch.hpp"
#include "metrics/instruments.hpp"

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace tidemark {

class agent_runner;

/// The live processes of all sessions, least recently used first. Used on the agents' I/O thread.
///
/// The cap concerns idle processes: a turn never waits for another workspace's, so while all are
/// busy there may be more than the cap allows, until one of them becomes idle.
class agent_pool {
public:
  explicit agent_pool(std::size_t most) : most_(most) {}

  /// Room for one more: ends idle processes until the cap allows it or none is left.
  void make_room();
  void entered(agent_runner& runner);
  void left(agent_runner& runner);
  void busy(agent_runner& runner);
  /// The runner's turn is over. Ends the least recently used idle process if there are too many.
  void idle(agent_runner& runner);
  [[nodiscard]] std::size_t live() const { return members_.size(); }

private:
  struct member {
    agent_runner* runner;
    bool idle = false;
    bool leaving = false;
  };
  std::list<member>::iterator find(agent_runner& runner);
  void shrink_to(std::size_t count);

  std::size_t most_;
  std::list<member> members_;
};

/// What every session and the probe work with. Outlives them. `options` and the two functions are
/// immutable; the rest belongs to the agents' I/O thread.
struct agent_runtime {
  boost::asio::io_context& io;
  agent_options options;
  instruments& metrics;
  /// Takes the conversation that the process resumes; empty if none.
  std::function<std::unique_ptr<adapter>(std::string_view)> make_adapter = make_claude_adapter;
  std::function<expected<launch_plan>(const launch_inputs&)> plan = plan_claude;
  agent_pool pool{options.max_live};
  std::string version = {}; ///< of the agent, as the probe last heard it; empty if unknown
};

} // namespace tidemark
