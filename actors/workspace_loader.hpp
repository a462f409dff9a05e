#pragma once

#include "actors/interfaces.hpp"
#include "actors/workspace_core.hpp"

#include <memory>
#include <string>

namespace tidemark {

/// A workspace as the log has it.
struct loaded_workspace {
  stream_info stream;
  workspace_state state; ///< head 0 if the workspace is new
  std::string path;      ///< its directory, made if need be, without symbolic links
};
using loaded_ptr = std::shared_ptr<const expected<loaded_workspace>>;

/// Acquires the stream of `name` and replays it: the last snapshot and what came after. Blocks.
expected<loaded_workspace> load_workspace(event_log& log, const std::string& root,
                                          const std::string& name);

} // namespace tidemark

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tidemark::loaded_ptr)

namespace tidemark {

/// Reads workspaces from the log on a thread of its own, so that no scheduler worker waits for a disk.
using workspace_loader_actor =
  caf::typed_actor<caf::replies_to<recover_atom, std::string>::with<loaded_ptr>>;

/// An empty `root` makes no directories. `log` outlives the actor system.
workspace_loader_actor spawn_workspace_loader(caf::actor_system& system, event_log& log,
                                              std::string root);

} // namespace tidemark
