#pragma once

#include "actors/workspace_core.hpp"
#include "http/server.hpp"
#include "http/services.hpp"
#include "storage/memory_log.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace v1_test {

using namespace tidemark;

/// Workspaces for tests: the real functional core over a log in memory, with the test in the place
/// of the agent. Thread-safe.
class played_workspaces {
public:
  played_workspaces(memory_log& log, hub& events) : log_(log), events_(events) {}

  /// Answers one command as the directory would.
  reply_ptr ask(const std::string& workspace, bool create_it, const command& what);
  summaries_ptr list();

  /// The agent says something.
  void report(const std::string& workspace, const session_report& what);
  void start(const std::string& workspace, const std::string& turn);
  /// A text block of the agent, streamed and complete.
  void say(const std::string& workspace, const std::string& turn, const std::string& text);
  void tell(const std::string& workspace, const std::string& turn, const std::string& type,
            json data);
  void end(const std::string& workspace, const std::string& turn, turn_result result);
  void succeed(const std::string& workspace, const std::string& turn, const std::string& text);

  /// What a workspace does when the server stops.
  void shut_down(const std::string& workspace);

  /// The turn that the agent was last told to begin; empty if none.
  std::string begun(const std::string& workspace);
  submit_turn last_submission();
  std::vector<pending_result> pending(const std::string& workspace);
  std::size_t undelivered(const std::string& workspace);
  /// Types of the events so far, `turn.completed` with its outcome.
  std::vector<std::string> history(const std::string& workspace);

private:
  struct place {
    workspace_state state;
    std::set<std::string> clients;
    std::string begun;
    stream_info stream;
  };
  place& open(const std::string& workspace);
  std::optional<expected<answer>> apply(place& at, decided what);

  std::mutex mutex_;
  memory_log& log_;
  hub& events_;
  workspace_rules rules_;
  std::map<std::string, place> places_;
  submit_turn last_submission_;
  int turns_ = 0;
};

/// A server on a port of its own with played workspaces behind it.
class v1_stage {
public:
  explicit v1_stage(http_options options = {});
  ~v1_stage();
  v1_stage(const v1_stage&) = delete;
  v1_stage& operator=(const v1_stage&) = delete;

  /// Begins the shutdown as app/server.cpp does: the workspaces may still log.
  void begin_stop();
  /// Ends the server, with workspaces that say nothing any more.
  void stop();

  memory_log log;
  hub events;
  played_workspaces workspaces{log, events};
  std::atomic<int> probes{0};
  std::uint16_t port = 0;

private:
  struct actors_config : caf::actor_system_config {
    actors_config();
  };

  instruments metrics_{"test"};
  http_options options_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> quiet_{false};
  boost::asio::thread_pool blocking_{1};
  background_pool background_{log};
  actors_config config_;
  std::unique_ptr<caf::actor_system> system_;
  directory_actor directory_;
  agent_probe_actor probe_;
  std::unique_ptr<http_services> services_;
  std::unique_ptr<http_server> server_;
};

} // namespace v1_test
