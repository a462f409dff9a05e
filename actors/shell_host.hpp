#pragma once

#include "actors/agent_options.hpp"
#include "actors/interfaces.hpp"
#include "actors/shell_options.hpp"
#include "metrics/instruments.hpp"

#include <memory>

namespace tidemark {

/// Runs all shells: owns their I/O thread.
class shell_host {
public:
  /// Of `places` shells take what is not the agent's own: root, state, guard, mark, environment.
  shell_host(caf::actor_system& system, shell_options options, agent_options places,
             instruments& metrics);
  /// Precondition: the shells have been stopped. Joins the I/O thread.
  ~shell_host();
  shell_host(const shell_host&) = delete;
  shell_host& operator=(const shell_host&) = delete;

  /// The actor that opens and lists shells. At most once.
  shells_actor spawn(directory_actor directory);

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace tidemark
