// SIGKILL at random moments under load: what a client was told is in the log, once, in place.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::milliseconds;

namespace {

constexpr int workspaces = 4;

std::string name(int index) {
  return "crash-" + std::to_string(index);
}

std::uint64_t chosen_seed() {
  const char* given = std::getenv("TIDEMARK_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

// What one workspace has shown to the outside, over all lives of the server.
struct witness {
  std::map<std::uint64_t, std::string> seen; // offset -> data line, as readers got it
  std::set<std::string> acknowledged;        // turns that were answered with 202
  std::string cursor;

  // A repeated offset must carry the same event; a new one must follow the last without a hole.
  void take(const sse_reader& reader) {
    for (const sse_frame& frame : reader.events()) {
      const std::uint64_t last = seen.empty() ? 0 : seen.rbegin()->first;
      INFO("offset " << frame.offset() << " after " << last);
      REQUIRE(frame.offset() == last + 1);
      seen.emplace(frame.offset(), frame.data);
      cursor = frame.id;
    }
  }
};

struct life {
  scene& stage;
  std::vector<witness>& witnesses;
  std::vector<std::unique_ptr<sse_reader>> readers = {};

  void attach() {
    for (int i = 0; i < workspaces; ++i) {
      sse_reader::options how;
      if (!witnesses[static_cast<std::size_t>(i)].cursor.empty()) {
        how.headers["Last-Event-ID"] = witnesses[static_cast<std::size_t>(i)].cursor;
      }
      readers.push_back(std::make_unique<sse_reader>(stage.client, of(name(i), "events"), how));
    }
  }

  // So many turns a life that their queues empty in the time that the test has.
  static constexpr int max_turns = 20;

  void load(std::mt19937_64& dice, std::chrono::steady_clock::time_point until) {
    for (int submitted = 0; std::chrono::steady_clock::now() < until; ++submitted) {
      const int index = static_cast<int>(dice() % workspaces);
      if (submitted >= max_turns) {
        (void) stage.queue(name(index));
        continue;
      }
      const std::string prompt =
        "WORDS " + std::to_string(20 + dice() % 200) + " " + std::to_string(dice() % 3);
      const http_reply reply =
        stage.client.post(of(name(index), "turns"), json::object({{"prompt", prompt}}));
      if (reply.status == 202) {
        witnesses[static_cast<std::size_t>(index)].acknowledged.insert(
          string_or(reply.parsed(), "turn"));
      }
    }
  }

  void detach() {
    for (int i = 0; i < workspaces; ++i) {
      auto& reader = *readers[static_cast<std::size_t>(i)];
      reader.wait_for_end();
      witnesses[static_cast<std::size_t>(i)].take(reader);
    }
  }
};

void check_history(const scene& stage, const std::vector<witness>& witnesses) {
  for (int i = 0; i < workspaces; ++i) {
    const witness& w = witnesses[static_cast<std::size_t>(i)];
    const std::vector<json> events = stage.events(name(i));
    INFO(name(i) << ": " << events.size() << " events, " << w.seen.size() << " seen, "
                 << w.acknowledged.size() << " turns acknowledged");
    CHECK(dense_from(events, 1));
    REQUIRE(events.size() >= w.seen.size());
    for (const auto& [offset, data] : w.seen) {
      const json shown = parse_json(data).value_or(json());
      REQUIRE(shown == events[offset - 1]);
    }
    std::map<std::string, int> completed;
    std::set<std::string> queued;
    for (const json& e : events) {
      if (string_or(e, "type") == "turn.queued") {
        queued.insert(string_or(e, "turn"));
      }
      completed[string_or(e, "turn")] += string_or(e, "type") == "turn.completed" ? 1 : 0;
    }
    for (const std::string& turn : w.acknowledged) {
      INFO("turn " << turn);
      CHECK(queued.contains(turn));
      CHECK(completed[turn] == 1);
    }
  }
}

void survive(int kills) {
  const std::uint64_t seed = chosen_seed();
  std::cout << "crash test, seed " << seed << " (TIDEMARK_TEST_SEED repeats it)" << std::endl;
  INFO("seed " << seed);
  std::mt19937_64 dice(seed);
  scene stage;
  std::vector<witness> witnesses(workspaces);
  for (int i = 0; i < workspaces; ++i) {
    stage.submit(name(i), "hello");
  }
  for (int round = 0; round < kills; ++round) {
    INFO("kill " << round + 1 << " of " << kills);
    life now{stage, witnesses};
    now.attach();
    const auto until = std::chrono::steady_clock::now() + milliseconds(50 + dice() % 900);
    now.load(dice, until);
    stage.server.kill();
    now.detach();
    stage.server.start();
    stage.reconnect();
  }
  for (int i = 0; i < workspaces; ++i) {
    const auto idle = [&] {
      const json queue = stage.queue(name(i));
      return queue.is_object() && queue.contains("current_task") && queue["current_task"].is_null()
             && int_or(queue, "queue_length", -1) == 0;
    };
    REQUIRE(poll_until(idle, std::chrono::minutes(2)));
  }
  check_history(stage, witnesses);
}

} // namespace

SCENARIO("five kills under load: nothing acknowledged is lost, nothing repeated, no hole",
         "[five]") {
  survive(5);
}

SCENARIO("fifty kills under load: nothing acknowledged is lost, nothing repeated, no hole",
         "[fifty][.]") {
  survive(50);
}
