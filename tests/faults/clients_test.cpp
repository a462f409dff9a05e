// A client that is slow, stalled, gone without a word or hostile, beside one that is none of it.
#include "tests/faults/server_limits.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/seed.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <thread>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::milliseconds;
using std::chrono::seconds;
using clock_type = std::chrono::steady_clock;

namespace {

constexpr int words = 400;
constexpr int neighbours = 20;
/// What the server may need more for all of them together: some pieces of a megabyte each, as large
/// events with their raw lines are.
constexpr std::uint64_t memory_bound_kb = neighbours * (5 << 10);

struct measured {
  milliseconds median{}, worst{};
  std::uint64_t resident_kb = 0;
};

/// A normal client: follows a turn of many words to its end, gets every event once, and asks small
/// questions all the while.
measured use_normally(scene& stage, const std::string& workspace) {
  const auto turn = stage.submit(workspace, "WORDS " + std::to_string(words) + " 1");
  sse_reader reader(stage.client, of(workspace, "events"));
  std::vector<milliseconds> answers;
  const auto ended = [&](const sse_reader::frames& seen) {
    return !seen.empty() && seen.back().event == "turn.completed"
           && string_or(seen.back().parsed(), "turn") == turn;
  };
  do {
    const auto asked = clock_type::now();
    REQUIRE(stage.client.get(of(workspace, "queue")).status == 200);
    answers.push_back(std::chrono::duration_cast<milliseconds>(clock_type::now() - asked));
  } while (!reader.wait(ended, milliseconds(20)) && answers.size() < 3000);
  REQUIRE(reader.wait(ended, seconds(60)));
  const auto seen = reader.events();
  CHECK(dense_from(seen, 1));
  CHECK(std::ranges::count_if(seen, [](const sse_frame& e) { return e.event == "item.delta"; })
        >= words);
  std::ranges::sort(answers);
  return {answers[answers.size() / 2], answers.back(), status_figure(stage.server.pid(), "VmRSS")};
}

/// Fills a workspace with something to send, so that a reader that takes nothing blocks its socket.
void fill(scene& stage) {
  std::string prompt;
  for (int i = 0; i < 30; ++i) {
    prompt += "HUGE 500000\n";
  }
  stage.run("full", prompt);
}

std::string request(const scene& stage, const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + stage.server.token()
         + "\r\nAccept: text/event-stream\r\n\r\n";
}

/// Uses the server alone, then beside others, and compares.
void compare(const char* kind, scene& stage, const std::function<void()>& arrive) {
  use_normally(stage, "warm-up");
  const auto alone = use_normally(stage, "alone");
  arrive();
  const auto beside = use_normally(stage, "beside");
  std::cout << kind << ": answers alone " << alone.median.count() << " ms (median) "
            << alone.worst.count() << " ms (worst), beside " << neighbours << " of them "
            << beside.median.count() << " ms, " << beside.worst.count() << " ms; resident "
            << alone.resident_kb / 1024 << " MiB, then " << beside.resident_kb / 1024 << " MiB"
            << std::endl;
  CHECK((sanitized || beside.resident_kb < alone.resident_kb + memory_bound_kb));
  CHECK(stage.client.get("/ready").status == 200);
}

} // namespace

SCENARIO("slow readers cost a normal one nothing, and the server little memory") {
  scene stage;
  fill(stage);
  std::vector<std::unique_ptr<sse_reader>> others;
  compare("slow readers (1 KB/s)", stage, [&] {
    sse_reader::options how;
    how.bytes_per_second = 1000;
    for (int i = 0; i < neighbours; ++i) {
      others.push_back(
        std::make_unique<sse_reader>(stage.client, of("full", "events?raw=true"), how));
    }
  });
}

SCENARIO("stalled and half-open readers cost a normal one nothing, and are dropped in the end") {
  scene stage({.environment = {{"TIDEMARK_HTTP_WRITE_TIMEOUT", "3s"}}});
  fill(stage);
  std::vector<raw_connection> others; // they ask, take nothing, and never say that they have gone
  compare("stalled readers", stage, [&] {
    for (int i = 0; i < neighbours; ++i) {
      others.emplace_back(stage.server.url());
      others.back().say(request(stage, of("full", "events?raw=true")));
    }
  });
  const auto dropped = [&] {
    return metric(stage.client.get("/metrics").body, "tidemark_slow_readers_total") >= neighbours;
  };
  CHECK(poll_until(dropped, seconds(60)));
}

SCENARIO("clients that connect and say nothing, or never finish a request, are dropped") {
  scene stage({.environment = {{"TIDEMARK_HTTP_REQUEST_TIMEOUT", "2s"}}});
  std::vector<raw_connection> others;
  compare("half-said requests", stage, [&] {
    for (int i = 0; i < neighbours; ++i) {
      others.emplace_back(stage.server.url());
      others.back().say(i % 2 == 0 ? "" : "POST /api/v1/message HTTP/1.1\r\nContent-Le");
    }
  });
  const auto alone_again = [&] {
    return metric(stage.client.get("/metrics").body, "tidemark_http_connections") <= 2;
  };
  CHECK(poll_until(alone_again, seconds(60)));
}

SCENARIO("hostile bytes harm nobody") {
  std::mt19937_64 dice(test_seed("hostile bytes"));
  scene stage;
  std::atomic<bool> over = false;
  std::thread hostile;
  const std::vector<std::string> begins{
    "",
    "GET / HTTP/1.1\r\n",
    "POST /api/v1/message HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST /api/v1/message HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "GET /api/v1/workspaces/%00%ff/events HTTP/1.1\r\nHost: x\r\n\r\n",
    request(stage, of("demo", "events?after=-1&limit=99999999999"))};
  compare("hostile bytes", stage, [&] {
    hostile = std::thread([&] {
      while (!over) {
        raw_connection one(stage.server.url());
        std::string bytes = begins[dice() % begins.size()];
        for (auto left = dice() % 4000; left > 0; --left) {
          bytes += static_cast<char>(dice());
        }
        one.say(bytes);
        std::this_thread::yield();
      }
    });
  });
  over = true;
  hostile.join();
  CHECK(process_alive(stage.server.pid()));
  CHECK(outcome_of(stage.run("demo", "ECHO after")) == "succeeded");
}
