#pragma once

#include "actors/directory.hpp"
#include "actors/janitor.hpp"
#include "actors/log_writer.hpp"
#include "actors/webhooks.hpp"
#include "storage/memory_log.hpp"
#include "tests/support/poll_until.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tidemark::testing {

/// What the sessions of a stage have seen. Shared between the sessions and the test.
struct session_log {
  std::mutex guard;
  std::vector<session_begin> begun;
  std::vector<stop_force> halted;
  int live = 0;
  int throws = 0; ///< that many sessions cannot be made

  std::size_t begun_count();
  int live_count();
  session_begin begun_at(std::size_t i);
};

/// A log in memory with writer and directory over it, and sessions that do what the prompt says:
/// `ok` succeeds at once, `hang` runs until it is halted, `die` ends the session without a word.
class actor_stage {
public:
  explicit actor_stage(std::shared_ptr<memory_log> log = std::make_shared<memory_log>(),
                       std::chrono::milliseconds idle_after = std::chrono::minutes{5});
  ~actor_stage();

  expected<answer> ask(const std::string& workspace, command what, bool create = true);
  template <class T>
  T get(const std::string& workspace, command what) {
    auto reply = ask(workspace, std::move(what));
    if (!reply)
      throw std::runtime_error(reply.error().describe());
    return std::get<T>(std::move(*reply));
  }
  expected<submit_reply> submit(const std::string& workspace, const std::string& prompt,
                                bool held = false);
  std::vector<workspace_summary> list();
  /// Delivers webhooks from here on. `sender` outlives the stage and holds nothing when it ends.
  void serve_webhooks(webhook_sender& sender, webhook_options how);
  void webhook_changed(const std::string& workspace, const std::string& name);
  /// Begins to remove what these rules, or a workspace's own, do not keep, and what of all workspaces
  /// goes beyond `total_bytes`, unless that is 0.
  void keep(retention_rules rules, std::uint64_t total_bytes = 0);
  /// Stops everything in order. True if the directory said that all is durable.
  bool stop();
  /// The first half of it, while clients still talk to the directory.
  bool stop_directory();

  std::vector<event> events(const std::string& workspace) const;
  std::size_t count(const std::string& workspace, std::string_view type,
                    std::string_view turn = {}) const;
  bool completed(const std::string& workspace, const std::string& turn,
                 std::string_view outcome) const;

  std::shared_ptr<memory_log> log;
  hub readers;
  instruments metrics{"test"};
  std::shared_ptr<session_log> sessions = std::make_shared<session_log>();

private:
  struct config : caf::actor_system_config {
    config();
  };
  config config_;
  std::optional<caf::actor_system> system_;
  log_writer_actor writer_;
  directory_actor directory_;
  webhooks_actor webhooks_;
  janitor_actor janitor_;
  bool directory_stopped_ = false;
};

} // namespace tidemark::testing
