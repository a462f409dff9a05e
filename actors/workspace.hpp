#pragma once

#include "actors/workspace_loader.hpp"
#include "metrics/instruments.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace tidemark {

/// The agent session of one workspace and the shells that run in it, in the hands of the workspace while it lives and of its
/// directory once it heard that the workspace is down: never of both, so no lock is needed.
struct session_slot {
  agent_session_actor session;
  std::set<std::string> shells; ///< they outlive a failure of their workspace
};

/// What a workspace actor works with.
struct workspace_deps {
  log_writer_actor writer;
  workspace_loader_actor loader;
  directory_actor directory; ///< hears of the workspace's summary; may be empty
  instruments* metrics = nullptr;
  workspace_rules rules;
  std::function<agent_session_actor(const std::string& workspace, workspace_actor owner)>
    make_session;
  std::shared_ptr<session_slot> slot;
  std::string fault; ///< why it had to be started again; empty on a first start
};

/// The shell around the functional core: decides, appends, and when the log says that the events
/// are durable, answers and runs the effects, in order. Appends are pipelined. After a failed commit it
/// stops its agent and recovers from the log; commands wait meanwhile.
///
/// Ends with `user_shutdown` when it was stopped or passivated, with an error after an exception.
/// Every command that reached it is answered. It leaves its session in the slot.
workspace_actor spawn_workspace(caf::local_actor& monitored_by, workspace_deps deps,
                                const std::string& name);

} // namespace tidemark
