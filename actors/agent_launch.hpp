#pragma once

#include "actors/agent_options.hpp"
#include "actors/session_protocol.hpp"
#include "agents/launch.hpp"
#include "process/child.hpp"

#include <functional>
#include <string>

namespace tidemark {

/// Why a turn could not be started: its code for clients beside the words.
struct launch_problem {
  std::string code; ///< `RUNTIME_UNAVAILABLE`, `WORKSPACE_DIRECTORY_MISSING`, `STORAGE_FULL` …
  std::string message;
  bool retryable = false;
};

/// Where the agent of a workspace, and shells in it, keep what is theirs. Absolute.
struct agent_places {
  std::string config; ///< CLAUDE_CONFIG_DIR
  std::string home;
};
agent_places places_of(const agent_options& options, const std::string& workspace);

/// Collects what decides the start of an agent for one turn of `workspace`: reads the settings
/// files (1 MiB each at most) and makes the workspace's home and configuration directories.
/// Blocks for some small files. Precondition: `workspace` is a valid workspace id.
tl::expected<launch_inputs, launch_problem> gather_inputs(const agent_options& options,
                                                          const std::string& workspace,
                                                          const session_begin& begin);

/// Tells a directory from a later one of the same path: a process in a deleted one is of no use.
std::string directory_identity(const std::string& path);

/// The plan as a process: under the guard, carrying this server's mark.
child_options to_child(const agent_options& options, const launch_plan& plan);

/// What a failed spawn means to a client.
launch_problem explain_spawn(const error& why, const launch_plan& plan);

} // namespace tidemark
