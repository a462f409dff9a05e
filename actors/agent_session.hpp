#pragma once

#include "actors/agent_runtime.hpp"
#include "actors/bridge.hpp"
#include "actors/interfaces.hpp"

#include <string>

namespace tidemark {

/// Spawns the session of `workspace`, pinned to `unit`. `runtime` and `unit` outlive it. It ends
/// when told to stop, and by itself when `owner` is gone, leaving no process behind either way.
agent_session_actor spawn_agent_session(caf::actor_system& system, asio_unit& unit,
                                        agent_runtime& runtime, const std::string& workspace,
                                        const workspace_actor& owner);

} // namespace tidemark
