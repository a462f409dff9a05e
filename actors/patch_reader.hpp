#pragma once

#include "actors/agent_runtime.hpp"
#include "actors/bridge.hpp"
#include "actors/interfaces.hpp"

namespace tidemark {

/// Reads patches of turns, a few at a time, and removes what was recorded of turns that go. Pinned to `unit`, the agents' I/O thread.
patch_reader_actor spawn_patch_reader(caf::actor_system& system, asio_unit& unit,
                                      agent_runtime& runtime);

} // namespace tidemark
