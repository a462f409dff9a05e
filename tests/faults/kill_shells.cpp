#include "tests/faults/kill_run.hpp"
#include "tests/integration/shell_scene.hpp"
#include "tests/support/poll_until.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

namespace tidemark::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t shells_a_life = 4;

/// Children of every kind that a guard must end, and then a shell that takes what is typed.
const std::string script = "sleep 611 & nohup sleep 612 > /dev/null 2>&1 & setsid sleep 613 & "
                           "(trap '' HUP TERM; sleep 614) & exec /bin/sh";

/// No assertions of Catch here: it acts on a thread of its own.
class shell_users final : public participant {
public:
  shell_users(shell_figures& seen, std::uint64_t& checked) : seen_(seen), checked_(checked) {}

  void join(scene& stage, workspace_set&) override {
    mark_ = "KILL_RUN_SHELL=" + stage.server.path("data");
    begun_ = 0;
  }

  void act(scene& stage, workspace_set& with, std::mt19937_64& dice) override {
    try {
      if (begun_ < shells_a_life) {
        ++begun_;
        open_and_use(stage, with.any(dice), dice());
        return;
      }
    } catch (const std::runtime_error&) {
      // The server was killed before a client had connected.
    }
    if (!clients_.empty()) {
      clients_[dice() % clients_.size()]->type("echo still $((1 + 1))\r");
    }
    std::this_thread::sleep_for(milliseconds(5));
  }

  std::string killed(scene&, workspace_set& with) override {
    seen_.left += processes_with_environment(mark_).size();
    for (const auto& [workspace, shell] : std::exchange(answers_, {})) {
      with.histories[workspace].acknowledged_shell(shell);
      ++seen_.acknowledged;
    }
    std::string problem;
    for (const auto& each : std::exchange(clients_, {})) {
      if (!each->wait_for_end(seconds(5))) {
        problem = "a client of a shell did not see its connection end with the server";
      } else if (!each->fault().empty()) {
        problem = "a client of a shell was sent: " + each->fault();
      }
    }
    return problem;
  }

  std::string check(scene& stage, workspace_set& with) override {
    const auto began = std::chrono::steady_clock::now();
    const auto gone = [&] { // twice: between two programs a process shows no environment
      return processes_with_environment(mark_).empty() && processes_with_environment(mark_).empty();
    };
    if (!poll_until(gone, seconds(5))) {
      return "what shells of the killed server had started still runs 5 s after the new start";
    }
    const auto listed = stage.client.get(shells_path);
    if (listed.status != 200 || !array_at(listed.parsed(), "shells").empty()) {
      return "shells of the killed server are listed: " + listed.body;
    }
    if (auto problem = await_ends(stage, with); !problem.empty()) {
      return problem;
    }
    seen_.slowest_end =
      std::max(seen_.slowest_end,
               std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began));
    return check_reasons(with);
  }

private:
  void open_and_use(scene& stage, const std::string& workspace, std::uint64_t manner) {
    const json argv = json::array({"/usr/bin/env", mark_, "/bin/sh", "-c", script});
    const auto reply =
      stage.client.post(shells_path, json::object({{"workspace_id", workspace}, {"argv", argv}}));
    if (reply.status != 200) {
      return;
    }
    const auto shell = string_or(reply.parsed(), "id");
    answers_.emplace_back(workspace, shell);
    reasons_[shell] = {"recovery"};
    switch (manner % 5) {
    case 0: return; // nobody comes
    case 1: return end_by_call(stage, shell);
    case 2: return leave(stage, shell, "");
    case 3: return leave(stage, shell, "?keep=true");
    default: clients_.push_back(type_into(stage, shell, ""));
    }
  }

  void end_by_call(scene& stage, const std::string& shell) {
    reasons_[shell].insert("client");
    if (stage.client.remove(shells_path + "/" + shell).status == 200) {
      reasons_[shell] = {"client"};
    }
  }

  void leave(scene& stage, const std::string& shell, const std::string& query) {
    auto client = type_into(stage, shell, query);
    if (query.empty()) {
      reasons_[shell].insert("disconnect");
    }
    client->leave(ws_client::farewell::reset);
    clients_.push_back(std::move(client));
  }

  static std::unique_ptr<ws_client> type_into(scene& stage, const std::string& shell,
                                              const std::string& query) {
    auto client =
      std::make_unique<ws_client>(stage.client, shells_path + "/" + shell + "/ws" + query);
    client->type("setsid sleep 615 & echo up $((40 + 2))\r");
    client->wait_for_output("up 42"); // or the server's end
    return client;
  }

  /// Also of those whose client never had an answer.
  std::string await_ends(scene& stage, workspace_set& with) {
    std::string problem;
    std::string open;
    const auto ended = [&] {
      problem = take_new_events(stage, with, checked_);
      open.clear();
      for (const auto& [name, known] : with.histories) {
        for (const auto& [shell, end] : known.shells()) {
          open = end.is_null() ? name + ": shell " + shell : open;
        }
      }
      return !problem.empty() || open.empty();
    };
    return poll_until(ended) ? problem : open + " is still open in the log of the new server";
  }

  std::string check_reasons(const workspace_set& with) {
    for (const auto& [name, known] : with.histories) {
      for (const auto& [shell, end] : known.shells()) {
        const auto [expected, is_new] =
          reasons_.try_emplace(shell, std::set{std::string("recovery")});
        seen_.unheard_of += is_new ? 1 : 0;
        const auto reason = string_or(end, "reason");
        const bool synthetic =
          bool_or(end, "synthetic", false) && end.contains("exit") && end["exit"].is_null();
        if (!expected->second.contains(reason) || synthetic != (reason == "recovery")) {
          return name + ": shell " + shell + " ended as " + end.dump();
        }
      }
    }
    return {};
  }

  shell_figures& seen_;
  std::uint64_t& checked_;
  std::string mark_; // in the environment of all that shells start
  std::size_t begun_ = 0;
  std::vector<std::pair<std::string, std::string>> answers_; // workspace and shell
  std::vector<std::unique_ptr<ws_client>> clients_;
  std::map<std::string, std::set<std::string>> reasons_; // by shell, of which one is its end's
};

} // namespace

std::unique_ptr<participant> make_shell_users(shell_figures& seen, std::uint64_t& checked) {
  return std::make_unique<shell_users>(seen, checked);
}

} // namespace tidemark::test
