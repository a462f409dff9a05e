#pragma once

#include "actors/interfaces.hpp"
#include "metrics/instruments.hpp"
#include "replay/hub.hpp"

#include <chrono>
#include <memory>

namespace tidemark {

/// What the log writer works with. Everything outlives the actor system.
struct log_writer_deps {
  event_log& log;
  hub& events;
  instruments& metrics;
  std::size_t max_batch_events = 4096;
  std::size_t max_batch_bytes = 4 << 20;
  std::chrono::milliseconds recover_every{1000}; ///< how often a refusing log is tried again
};

/// Spawns the committer on a thread of its own. Group commit without an artificial delay: the
/// appends that arrived while the last commit ran form the next one.
log_writer_actor spawn_log_writer(caf::actor_system& system, log_writer_deps deps);

} // namespace tidemark
