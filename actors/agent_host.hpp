#pragma once

#include "actors/agent_options.hpp"
#include "actors/interfaces.hpp"
#include "metrics/instruments.hpp"

#include <memory>
#include <string>

namespace tidemark {

/// Runs all agent processes: owns their I/O thread and spawns the session actors pinned to it.
/// The functions may be called from any thread.
class agent_host {
public:
  agent_host(caf::actor_system& system, agent_options options, instruments& metrics);
  /// Precondition: all that it spawned has been stopped. Joins the I/O thread.
  ~agent_host();
  agent_host(const agent_host&) = delete;
  agent_host& operator=(const agent_host&) = delete;

  /// A session for one workspace; starts no process before its first turn. It reports to `owner`
  /// with (report_atom, session_report_ptr) and treats each answer as credit.
  agent_session_actor spawn_session(const std::string& workspace, workspace_actor owner);

  /// The capability probe.
  agent_probe_actor spawn_probe();

  /// Reads what turns changed.
  patch_reader_actor spawn_patch_reader();

  [[nodiscard]] const agent_options& options() const;

private:
  struct state;
  std::shared_ptr<state> state_;
};

} // namespace tidemark
