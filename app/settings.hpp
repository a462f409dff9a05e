#pragma once

#include "actors/agent_options.hpp"
#include "actors/shell_options.hpp"
#include "actors/webhook_options.hpp"
#include "actors/workspace_core.hpp"
#include "base/logging.hpp"
#include "http/options.hpp"
#include "replay/retention.hpp"
#include "storage/rocks_log.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace tidemark {

/// Everything that can be set, as the parts of the server take it. The members' initial values are
/// the defaults; app/setting_table.cpp gives each its name and its text.
///
/// Empty paths are filled in by `resolve` (app/config.hpp): they follow the data directory or the
/// place of this executable.
struct settings {
  std::string data_directory = "data/tidemark"; ///< the log; by default also workspaces and agents
  logging::level log_level = logging::level::info;
  std::chrono::milliseconds shutdown_limit{9'000}; ///< from the first signal to the forced end
  bool core_dumps = false;                         ///< and debuggers, and readers of /proc
  bool passive = false;             ///< nothing happens by itself: for a look at a restored log
  std::size_t worker_threads = 0;   ///< of the actors; 0: one a core
  std::size_t blocking_threads = 4; ///< for reads that go to the disk

  http_options http;
  agent_options agent;
  shell_options shell;
  webhook_options webhooks;
  rocks_log_options log; ///< `directory` is filled in by `resolve`
  workspace_rules rules;

  std::size_t batch_events = 4096;
  std::size_t batch_bytes = 4 << 20;
  std::size_t tail_bytes = 64 << 20;       ///< hot events of all streams
  std::size_t tail_stream_bytes = 4 << 20; ///< hot events of one stream
  std::chrono::milliseconds workspace_idle{5 * 60'000};
  std::size_t workspace_restarts = 5;
  retention_rules retain;                              ///< of workspaces without rules of their own
  std::chrono::milliseconds retain_sweep{10 * 60'000}; ///< how often they are applied

  settings() { agent.kind = "auto"; }
};

} // namespace tidemark
