#pragma once

#include "actors/interfaces.hpp"
#include "http/background_pool.hpp"
#include "http/options.hpp"
#include "metrics/instruments.hpp"
#include "replay/hub.hpp"
#include "storage/event_log.hpp"

#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

namespace tidemark {

class staged_backups; // storage/staged_backups.hpp

/// What the HTTP actor works with. Owned by app/server.cpp, which outlives every connection.
struct http_services {
  const http_options& options;
  const event_log& log;
  hub& events;
  instruments& metrics;
  directory_actor directory;
  agent_probe_actor probe;
  boost::asio::thread_pool& blocking; ///< for everything that reads the disk
  background_pool& background;        ///< looks at the whole log, hash chains
  std::string workspace_root;
  std::string version;
  policy rights = policy::agent;
  std::atomic<bool>& stopping;               ///< set when shutdown has begun
  std::atomic<bool>& quiet;                  ///< set when it has come so far that no event follows
  std::string settings_path = {};            ///< SETTINGS_PATH: model providers
  patch_reader_actor patches = {};           ///< empty: nothing is recorded (agent.snapshots)
  shells_actor shells = {};                  ///< empty: there are no shells (shell.enabled)
  std::size_t shell_message_bytes = 1 << 20; ///< of one message of a shell's client
  std::size_t max_prompt_bytes = 32 << 20;
  webhooks_actor webhooks = {};      ///< empty: none are served
  staged_backups* backups = nullptr; ///< null: this server makes no backups
  /// Says what is wrong with a webhook's URL; may block. Empty: nothing is.
  std::function<expected<void>(const std::string&)> check_webhook_url = {};
};

} // namespace tidemark
