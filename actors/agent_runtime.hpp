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
/// Never more than `most`: a turn that finds them all busy waits, first come first served, until one
/// has ended; an idle one is ended for it.
class agent_pool {
public:
  explicit agent_pool(std::size_t most) : most_(most == 0 ? 1 : most) {}

  /// True if the runner may start its process now. Else it waits: its room_made() is called once it
  /// is worth asking again.
  [[nodiscard]] bool admit(agent_runner& runner);
  /// The runner waits no more, or did not use its room.
  void withdraw(agent_runner& runner);
  void entered(agent_runner& runner);
  void left(agent_runner& runner);
  void busy(agent_runner& runner);
  /// The runner's turn is over: ends the least recently used idle process if somebody waits.
  void idle(agent_runner& runner);
  [[nodiscard]] std::size_t live() const { return members_.size(); }

private:
  struct member {
    agent_runner* runner;
    bool idle = false;
    bool leaving = false;
  };
  std::list<member>::iterator find(agent_runner& runner);
  [[nodiscard]] std::size_t free() const;
  void serve();
  void evict(std::size_t wanted);

  std::size_t most_;
  std::list<member> members_;
  std::list<agent_runner*> waiting_; ///< first come first
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
