#include "actors/agent_host.hpp"

#include "actors/actor_thread.hpp"
#include "actors/agent_probe.hpp"
#include "actors/agent_runtime.hpp"
#include "actors/agent_session.hpp"
#include "actors/patch_reader.hpp"

namespace tidemark {

struct agent_host::state {
  state(caf::actor_system& s, agent_options options, instruments& metrics)
    : system(s),
      thread(s, "agent"),
      runtime{thread.io(), std::move(options), metrics} {}
  ~state() { thread.join(); }

  caf::actor_system& system;
  actor_thread thread;
  agent_runtime runtime;
};

agent_host::agent_host(caf::actor_system& system, agent_options options, instruments& metrics)
  : state_(std::make_shared<state>(system, std::move(options), metrics)) {}

agent_host::~agent_host() = default;

agent_session_actor agent_host::spawn_session(const std::string& workspace, workspace_actor owner) {
  return spawn_agent_session(state_->system, state_->thread.unit(), state_->runtime, workspace,
                             owner);
}

agent_probe_actor agent_host::spawn_probe() {
  return spawn_agent_probe(state_->system, state_->thread.unit(), state_->runtime);
}

patch_reader_actor agent_host::spawn_patch_reader() {
  return tidemark::spawn_patch_reader(state_->system, state_->thread.unit(), state_->runtime);
}

const agent_options& agent_host::options() const {
  return state_->runtime.options;
}

} // namespace tidemark
