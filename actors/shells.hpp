#pragma once

#include "actors/shell.hpp"

namespace tidemark {

/// Spawns the actor of all shells, pinned to `unit`, which together with `runtime` outlives it. It
/// ends when told to exit, and its shells with it.
shells_actor spawn_shells(caf::actor_system& system, asio_unit& unit, shell_runtime& runtime,
                          directory_actor directory);

} // namespace tidemark
