#pragma once

#include "actors/agent_options.hpp"
#include "actors/bridge.hpp"
#include "actors/interfaces.hpp"
#include "actors/shell_options.hpp"
#include "metrics/instruments.hpp"

#include <memory>

namespace boost::asio {
class io_context;
}

namespace tidemark {

/// What every shell works with. Outlives them.
struct shell_runtime {
  boost::asio::io_context& io;
  const agent_options& places;
  shell_options options;
  instruments& metrics;
};

/// What the list of shells shows of one. Written by its shell and read by `shells`, which share one
/// thread, so without a lock.
struct shell_record {
  shell_info info;
  bool opened = false; ///< in the log, and known to its client
  bool closed = false; ///< its processes are gone, and the log has that too
};

/// Spawns the shell of `record`, pinned to `unit`, which together with `runtime` outlives it.
/// `record` holds its id and workspace.
shell_actor spawn_shell(caf::actor_system& system, asio_unit& unit, shell_runtime& runtime,
                        directory_actor directory, std::shared_ptr<shell_record> record);

} // namespace tidemark
