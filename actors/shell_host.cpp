#include "actors/shell_host.hpp"

#include "actors/actor_thread.hpp"
#include "actors/shell.hpp"
#include "actors/shells.hpp"

namespace tidemark {

struct shell_host::state {
  state(caf::actor_system& s, shell_options options, agent_options shared, instruments& metrics)
    : system(s),
      places(std::move(shared)),
      thread(s, "shell"),
      runtime{thread.io(), places, options, metrics} {}
  ~state() { thread.join(); }

  caf::actor_system& system;
  agent_options places;
  actor_thread thread;
  shell_runtime runtime;
};

shell_host::shell_host(caf::actor_system& system, shell_options options, agent_options places,
                       instruments& metrics)
  : state_(std::make_unique<state>(system, options, std::move(places), metrics)) {}

shell_host::~shell_host() = default;

shells_actor shell_host::spawn(directory_actor directory) {
  return spawn_shells(state_->system, state_->thread.unit(), state_->runtime, std::move(directory));
}

} // namespace tidemark
