#pragma once

#include "base/error.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Name of the environment variable that marks every process an agent starts with the server's
/// instance: the value is the id kept in the data directory.
inline constexpr std::string_view instance_mark = "TIDEMARK_INSTANCE";

/// Name of the environment variable that marks an agent and every process it starts: the value is
/// unique to one start of the agent.
inline constexpr std::string_view process_mark = "TIDEMARK_PROCESS";

/// Kills (SIGKILL) every process of this user whose environment carries `instance_mark=<instance>`,
/// except the calling process, and waits until they are gone (bounded). For crash recovery: pids
/// alone are reused by the system, the mark is not. Returns the pids that were killed.
std::vector<int> kill_marked(std::string_view instance);
/// The same for any variable, waiting `limit` at most. An empty value marks nothing.
std::vector<int> kill_marked(std::string_view name, std::string_view value,
                             std::chrono::milliseconds limit);

/// Kills (SIGKILL) every process of the session that `leader` made: what can still be found of a
/// tree whose guard was itself killed. Does not wait.
void kill_session(int leader);

} // namespace tidemark
