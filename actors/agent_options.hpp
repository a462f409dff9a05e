#pragma once

#include "agents/policy.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tidemark {

/// How agents are run; the `agent.*` settings (docs/operations.md).
struct agent_options {
  std::string kind = "demo";   ///< `claude` or `demo`
  std::string binary;          ///< path or name of the agent's executable
  std::string guard;           ///< path of tidemark-guard
  std::string workspace_root;  ///< WORKSPACE_ROOT; one directory a workspace below it
  std::string state_directory; ///< per-workspace home and configuration of agents
  std::string settings_path;   ///< SETTINGS_PATH
  std::string instance;        ///< mark of this server's processes (process/orphans.hpp)
  policy rights = policy::agent;
  bool skip_permissions = false;
  std::vector<std::string> passed_names; ///< `agent.env`
  std::map<std::string, std::string> server_environment;
  std::vector<std::string> server_secrets; ///< the API token and the like: masked in all output
  std::size_t max_line_bytes = 32 << 20;
  std::size_t max_stderr_tail = 8 << 10;
  std::size_t max_unsynced_bytes = 8 << 20; ///< output that waits for the log before reading pauses
  std::size_t max_live = 16; ///< live processes; an idle one gives way, a turn waits for a busy one
  std::chrono::milliseconds idle_limit{10 * 60'000};    ///< an idle process is stopped after this
  std::chrono::milliseconds silence_limit{10 * 60'000}; ///< a turn without any output is ended
  std::chrono::milliseconds interrupt_grace{5'000};     ///< in-band interrupt before escalation
  std::chrono::milliseconds kill_grace{2'000};          ///< TERM before KILL
  std::chrono::milliseconds probe_limit{30'000};
  bool snapshots = false; ///< record what each turn changes in the workspace's files
  std::chrono::milliseconds snapshot_limit{30'000}; ///< of one record; then there is none
};

} // namespace tidemark
