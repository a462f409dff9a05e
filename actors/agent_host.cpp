#include "actors/agent_host.hpp"

#include "actors/agent_probe.hpp"
#include "actors/agent_runtime.hpp"
#include "actors/agent_session.hpp"
#include "base/logging.hpp"

#include <boost/asio/executor_work_guard.hpp>

#include <future>
#include <thread>

namespace tidemark {
namespace {

using namespace std::chrono_literals;

/// For guards that are still cleaning up when all sessions have stopped.
constexpr auto last_limit = 5s;

} // namespace

struct agent_host::state {
  state(caf::actor_system& s, agent_options options, instruments& metrics)
    : system(s),
      unit(s, io.get_executor()),
      runtime{io, std::move(options), metrics} {}

  caf::actor_system& system;
  boost::asio::io_context io{1};
  asio_unit unit;
  agent_runtime runtime;
  boost::asio::executor_work_guard<asio_unit::executor> work{io.get_executor()};
  std::promise<void> ended;
  std::thread thread;

  void run() {
    for (;;) {
      try {
        io.run();
        break;
      } catch (const std::exception& failure) {
        // A bug of ours in one session must not end the others.
        logging::error("agent", "a callback failed: {}", failure.what());
      }
    }
    ended.set_value();
  }
};

agent_host::agent_host(caf::actor_system& system, agent_options options, instruments& metrics)
  : state_(std::make_shared<state>(system, std::move(options), metrics)) {
  state_->thread = std::thread{[s = state_.get()] { s->run(); }};
}

agent_host::~agent_host() {
  state_->work.reset();
  if (state_->ended.get_future().wait_for(last_limit) == std::future_status::timeout) {
    logging::error("agent", "an agent was not stopped before its host; it is killed");
    state_->io.stop();
  }
  state_->thread.join();
}

agent_session_actor agent_host::spawn_session(const std::string& workspace, workspace_actor owner) {
  return spawn_agent_session(state_->system, state_->unit, state_->runtime, workspace, owner);
}

agent_probe_actor agent_host::spawn_probe() {
  return spawn_agent_probe(state_->system, state_->unit, state_->runtime);
}

const agent_options& agent_host::options() const {
  return state_->runtime.options;
}

} // namespace tidemark
