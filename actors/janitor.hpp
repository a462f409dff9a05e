#pragma once

#include "actors/interfaces.hpp"
#include "metrics/instruments.hpp"
#include "replay/retention_rules.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tidemark {

/// What the janitor works with. Everything outlives the actor system.
struct janitor_deps {
  const event_log& log;
  log_writer_actor writer;
  directory_actor directory;
  instruments& metrics;
  retention_rules rules;         ///< of workspaces that have none of their own
  std::uint64_t total_bytes = 0; ///< of all workspaces' events; 0: no limit
  patch_reader_actor recordings =
    {}; ///< what was recorded of turns goes with them; empty: nothing is
  std::chrono::milliseconds every{10 * 60'000};
  /// The first look, when the server has found its feet; not later than `every`.
  std::chrono::milliseconds first_after{60'000};
  std::chrono::milliseconds pause{2}; ///< between two steps
  std::size_t events_a_step = 1000;   ///< read in one step
  std::size_t removals_a_step = 500;  ///< removed in one step, for which commits wait
};

/// Spawns the janitor on a thread of its own. For each workspace with a rule, or each one if there is a limit
/// for all, it keeps an outline of the stream (replay/stream_outline.hpp), which the first look makes of all
/// its events. Removals that the log tells of and a crash cut short are completed first. When every
/// workspace keeps to its rules, the limit for all is seen to.
janitor_actor spawn_janitor(caf::actor_system& system, janitor_deps deps);

} // namespace tidemark
