// SIGKILL at random moments under load: what a client was told is in the log, once, in place; what
// was begun comes to its end; and nothing that agents started outlives the server for long.
#include "tests/faults/kill_run.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/seed.hpp"

#include <catch2/catch.hpp>
#include <iostream>
#include <regex>
#include <thread>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::milliseconds;

namespace {

constexpr int workspaces_a_part = 4;
constexpr int cycles_a_part = 25;

struct totals {
  std::uint64_t events = 0;
  std::uint64_t turns = 0;
  std::size_t kills = 0;
  std::size_t kills_at_start = 0;
  std::size_t orphans = 0;
  shell_figures shells;
  milliseconds slowest_clean_up{};
  milliseconds slowest_start{};
};

class kill_run {
public:
  explicit kill_run(int cycles)
    : cycles_(cycles),
      dice_(test_seed("kills")),
      stage_({.environment = {{"TIDEMARK_WORKSPACE_IDLE_AFTER", "1s"},
                              {"TIDEMARK_WORKSPACE_SNAPSHOT_EVERY", "64"},
                              {"TIDEMARK_AGENT_IDLE_LIMIT", "5s"}}}) {
    everybody_.push_back(make_writer());
    everybody_.push_back(make_writer());
    everybody_.push_back(make_workspace_client());
    everybody_.push_back(make_readers());
    everybody_.push_back(make_orphan_watch(sum_.slowest_clean_up, sum_.orphans));
    // After the watch: a guard of theirs that it stopped must not go on before it is killed.
    everybody_.push_back(make_shell_users(sum_.shells, sum_.events));
  }

  void run() {
    for (int done = 0; done < cycles_;) {
      part_ = workspace_set(done / cycles_a_part, workspaces_a_part);
      for (const int end = std::min(done + cycles_a_part, cycles_); done < end; ++done) {
        cycle(done);
      }
      finish_part();
    }
    std::cout << "kills: " << sum_.kills << " under load and " << sum_.kills_at_start
              << " during a start; " << sum_.turns << " turns, " << sum_.events
              << " events checked, nothing lost; " << sum_.orphans
              << " processes had been left behind, " << killed_by_servers()
              << " of them for the next server to kill, the last gone "
              << sum_.slowest_clean_up.count() << " ms after a start at the latest; slowest start "
              << sum_.slowest_start.count() << " ms; " << sum_.shells.acknowledged << " shells and "
              << sum_.shells.unheard_of << " that no client had heard of, " << sum_.shells.left
              << " of their processes alive after a kill, each end in the log "
              << sum_.shells.slowest_end.count() << " ms after a start at the latest" << std::endl;
    CHECK(sum_.shells.acknowledged > 0);
  }

private:
  void cycle(int number) {
    INFO("cycle " << number + 1 << " of " << cycles_);
    for (auto& each : everybody_) {
      each->join(stage_, part_);
    }
    const milliseconds life = milliseconds(20 + dice_() % 1200) * patience;
    load_until_killed(life);
    for (auto& each : everybody_) {
      REQUIRE(each->killed(stage_, part_) == "");
    }
    start_again();
    const auto before = sum_.events;
    for (auto& each : everybody_) {
      REQUIRE(each->check(stage_, part_) == "");
    }
    CHECK(stage_.client.get("/ready").status == 200);
    REQUIRE(take_new_events(stage_, part_, sum_.events) == "");
    const auto& one = part_.any(dice_);
    CHECK(bool_or(stage_.client.get(of(one, "verify")).parsed(), "ok",
                  part_.histories[one].head() == 0));
    std::cout << "cycle " << number + 1 << " of " << cycles_ << ": killed after " << life.count()
              << " ms, " << sum_.events - before << " new events kept every promise" << std::endl;
  }

  void load_until_killed(milliseconds life) {
    std::atomic<bool> over = false;
    std::vector<std::thread> threads;
    for (auto& each : everybody_) {
      threads.emplace_back([&, own = std::mt19937_64(dice_())]() mutable {
        while (!over) {
          each->act(stage_, part_, own);
        }
      });
    }
    std::this_thread::sleep_for(life); // the random moment
    stage_.server.kill();
    ++sum_.kills;
    over = true;
    for (auto& each : threads) {
      each.join();
    }
  }

  /// As the servers themselves said at their start.
  std::size_t killed_by_servers() const {
    std::size_t sum = 0;
    const auto said = stage_.server.output();
    static const std::regex line(
      "killed ([0-9]+) processes that agents of an earlier run had left");
    for (std::sregex_iterator it(said.begin(), said.end(), line), end; it != end; ++it) {
      sum += std::stoul((*it)[1]);
    }
    return sum;
  }

  // One start in five is killed on its way as well.
  void start_again() {
    while (dice_() % 5 == 0) {
      stage_.server.launch();
      std::this_thread::sleep_for(milliseconds(dice_() % 150));
      stage_.server.kill();
      ++sum_.kills_at_start;
    }
    const auto began = std::chrono::steady_clock::now();
    stage_.server.start();
    stage_.reconnect();
    sum_.slowest_start =
      std::max(sum_.slowest_start,
               std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began));
  }

  void finish_part() {
    for (auto& [name, known] : part_.histories) {
      INFO(name);
      // Turns of the kind that runs for long would hold up the rest: it is their order that counts.
      const auto idle = [&] {
        const json queue = stage_.queue(name);
        const json& current = object_at(queue, "current_task");
        if (current.is_object() && !current.empty()) {
          stage_.client.remove(of(name, "queue/current"));
        }
        return queue.is_object() && queue.contains("current_task")
               && queue["current_task"].is_null() && int_or(queue, "queue_length", -1) == 0;
      };
      REQUIRE(poll_until(idle, std::chrono::minutes(2)));
      CHECK(bool_or(stage_.client.get(of(name, "verify")).parsed(), "ok", known.head() == 0));
    }
    REQUIRE(take_new_events(stage_, part_, sum_.events) == "");
    for (auto& [name, known] : part_.histories) {
      INFO(name);
      const auto settled = [&] {
        REQUIRE(take_new_events(stage_, part_, sum_.events) == "");
        return known.unfinished(pending_results(stage_, name)).empty();
      };
      poll_until(settled);
      CHECK(known.unfinished(pending_results(stage_, name)) == "");
      sum_.turns += known.turns();
    }
  }

  const int cycles_;
  std::mt19937_64 dice_;
  scene stage_;
  workspace_set part_{0, 0};
  totals sum_;
  std::vector<std::unique_ptr<participant>> everybody_;
};

} // namespace

SCENARIO("five kills under load: nothing acknowledged is lost, nothing repeated, no hole") {
  kill_run(5).run();
}

SCENARIO("a thousand kills under load: nothing acknowledged is lost, nothing repeated, no hole",
         "[long][.]") {
  kill_run(1000).run();
}
