#pragma once

#include "actors/agent_runtime.hpp"
#include "actors/bridge.hpp"
#include "actors/interfaces.hpp"

namespace tidemark {

/// Spawns the capability probe, pinned to `unit`. `runtime` and `unit` outlive it.
///
/// Asks the executable for its version, then starts an agent in a directory of its own, and kills
/// it as soon as it has named its tools (before any request goes to a model). One probe at a time:
/// who asks meanwhile gets the same answer. Leaves no process behind.
agent_probe_actor spawn_agent_probe(caf::actor_system& system, asio_unit& unit,
                                    agent_runtime& runtime);

} // namespace tidemark
