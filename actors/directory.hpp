#pragma once

#include "actors/interfaces.hpp"
#include "actors/workspace_core.hpp"
#include "metrics/instruments.hpp"

#include <chrono>
#include <functional>
#include <string>

namespace tidemark {

/// What the directory and its workspaces work with. Everything outlives the actor system.
struct directory_deps {
  event_log& log;
  log_writer_actor writer;
  instruments& metrics;
  workspace_rules rules;      ///< `path` is filled in for each workspace
  std::string workspace_root; ///< one directory a workspace, made on activation
  /// Makes the session of a workspace (actors/agent_host.hpp); a test puts a fake in its place.
  std::function<agent_session_actor(const std::string& workspace, workspace_actor owner)>
    make_session;
  std::chrono::milliseconds idle_after{5 * 60'000}; ///< then a workspace is passivated
  std::chrono::milliseconds restart_backoff{50};    ///< doubled for each fault in a row
  std::size_t max_restarts = 5; ///< in a row; then its commands fail with the reason
};

/// Spawns the directory. It lists the log's streams, activates the workspaces that have work to do
/// after a restart, and answers at once.
directory_actor spawn_directory(caf::actor_system& system, directory_deps deps);

} // namespace tidemark
