// Turns by the native API: acceptance, repetition, cancel, interrupt.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdint>
#include <thread>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

/// Interrupts one turn after the other within its first 60 ms.
void interrupt_early(int turns) {
  scene stage({.environment = {{"TIDEMARK_AGENT_INTERRUPT_GRACE", "500ms"},
                               {"TIDEMARK_AGENT_KILL_GRACE", "300ms"}}});
  for (int i = 0; i < turns; ++i) {
    const std::string late = "LATEINIT " + std::to_string(i % 2 == 0 ? 0 : 60) + "\n";
    const std::string turn = stage.submit("demo", late + "WORDS 1000 10");
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 20 * 3)); // the moment that is tried
    REQUIRE(stage.client.post(of("demo", "turns/" + turn + "/interrupt")).status < 300);
    const json completed = stage.completion("demo", turn, seconds(15));
    INFO("round " << i << ": " << completed.dump());
    CHECK(outcome_of(completed) == "cancelled");
  }
}

} // namespace

SCENARIO("an accepted turn is in the log and can be asked for until it has its result") {
  scene stage;
  const auto reply =
    stage.client.post(of("demo", "turns"), json::object({{"prompt", "ECHO the answer"}}));
  REQUIRE(reply.status == 202);
  const std::string turn = string_or(reply.parsed(), "turn");
  CHECK(int_or(reply.parsed(), "offset", 0) >= 1);
  stage.completion("demo", turn);
  const auto one = stage.client.get(of("demo", "turns/" + turn));
  REQUIRE(one.status == 200);
  CHECK(one.body.find("the answer") != std::string::npos);
  const auto list = stage.client.get(of("demo", "turns"));
  REQUIRE(list.status == 200);
  CHECK(list.body.find(turn) != std::string::npos);
  CHECK(stage.client.get(of("demo", "turns/0193f000-0000-7000-8000-000000000000")).status == 404);
}

SCENARIO("a malformed submission is refused and leaves nothing behind") {
  scene stage;
  for (const char* body : {"", "no json", "[]", "{}", R"({"prompt":""})", R"({"prompt":5})"}) {
    INFO(body);
    const auto reply =
      stage.client.send({.method = "POST", .path = of("demo", "turns"), .body = body});
    CHECK(reply.status >= 400);
    CHECK(reply.status < 500);
  }
  CHECK(stage.client.post(of("bad%20name", "turns"), json::object({{"prompt", "x"}})).status
        == 400);
  CHECK(stage.client.get(of("demo", "events")).status == 404);
}

SCENARIO("B66: a retried request runs once; the same key with another body is refused") {
  scene stage;
  const json body = json::object({{"prompt", "TOOL echo x >> runs.txt"}});
  const auto send = [&](const json& what) {
    return stage.client.post(of("demo", "turns"), what, {{"Idempotency-Key", "key-1"}});
  };
  std::vector<std::string> turns(4);
  std::vector<std::thread> clients;
  for (std::string& turn : turns) {
    clients.emplace_back([&] { turn = string_or(send(body).parsed(), "turn"); });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  for (const std::string& turn : turns) {
    CHECK(turn == turns.front());
  }
  stage.completion("demo", turns.front());
  CHECK(string_or(send(body).parsed(), "turn") == turns.front());
  stage.kill_and_restart();
  CHECK(string_or(send(body).parsed(), "turn") == turns.front());
  CHECK(send(json::object({{"prompt", "another"}})).status == 422);
  CHECK(read_file(stage.server.workspace("demo") + "/runs.txt") == "x\n");
  CHECK(count_of(stage.events("demo"), "turn.queued") == 1);
}

SCENARIO("B41: turns of one workspace run one at a time, in the order of acceptance") {
  scene stage;
  std::vector<std::string> turns;
  for (int i = 0; i < 6; ++i) {
    turns.push_back(stage.submit("demo", "TOOL echo start " + std::to_string(i)
                                           + " >> order.txt; sleep 0.05; echo end "
                                           + std::to_string(i) + " >> order.txt"));
  }
  CHECK(outcome_of(stage.completion("demo", turns.back(), seconds(60))) == "succeeded");
  std::string expected_order;
  for (int i = 0; i < 6; ++i) {
    expected_order += "start " + std::to_string(i) + "\nend " + std::to_string(i) + "\n";
  }
  CHECK(read_file(stage.server.workspace("demo") + "/order.txt") == expected_order);
}

SCENARIO(
  "B41: turns that many clients send at once run one at a time, in the order of acceptance") {
  scene stage;
  constexpr std::size_t count = 20;
  std::vector<std::pair<std::int64_t, std::string>> accepted(count);
  std::vector<std::thread> clients;
  for (auto& each : accepted) {
    clients.emplace_back([&stage, &each] {
      const json reply =
        stage.client.post(of("demo", "turns"), json::object({{"prompt", "hello"}})).parsed();
      each = {int_or(reply, "offset", 0), string_or(reply, "turn")};
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  std::sort(accepted.begin(), accepted.end());
  for (const auto& [offset, turn] : accepted) {
    CHECK(outcome_of(stage.completion("demo", turn, seconds(60))) == "succeeded");
  }
  const auto ends = stage.events("demo", "types=turn.completed");
  const auto begins = stage.events("demo", "types=turn.started");
  REQUIRE(ends.size() == count);
  REQUIRE(begins.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(string_or(ends[i], "turn") == accepted[i].second);
    CHECK(string_or(data_of(ends[i]), "text").find("turn " + std::to_string(i + 1) + ".")
          != std::string::npos);
    const auto next = i + 1 < count ? int_or(begins[i + 1], "offset", 0) : INT64_MAX;
    CHECK(int_or(ends[i], "offset", 0) < next);
  }
}

SCENARIO("B67: cancelling a queued turn drops only that one") {
  scene stage;
  const std::string running = stage.submit("demo", "SLOW 2000");
  const std::string b = stage.submit("demo", "ECHO b");
  const std::string c = stage.submit("demo", "ECHO c");
  const std::string d = stage.submit("demo", "ECHO d");
  CHECK(stage.client.remove(of("demo", "turns/" + c)).status < 300);
  CHECK(outcome_of(stage.completion("demo", c)) == "cancelled");
  CHECK(outcome_of(stage.completion("demo", running)) == "succeeded");
  CHECK(outcome_of(stage.completion("demo", b)) == "succeeded");
  CHECK(outcome_of(stage.completion("demo", d)) == "succeeded");
  std::vector<std::string> order;
  for (const json& e : stage.events("demo", "types=turn.started")) {
    order.push_back(string_or(e, "turn"));
  }
  CHECK(order == std::vector<std::string>{running, b, d});
}

SCENARIO("B16: an interrupt goes in-band, the process survives and takes the next turn") {
  scene stage;
  const std::string turn = stage.submit("demo", "WORDS 1000 20");
  const json started = stage.await_event("demo", "turn.started", turn);
  stage.await_event("demo", "item.delta", turn);
  CHECK(stage.client.post(of("demo", "turns/" + turn + "/interrupt")).status < 300);
  const json completed = stage.completion("demo", turn, seconds(10));
  CHECK((outcome_of(completed) == "interrupted" || outcome_of(completed) == "cancelled"));
  const json next = stage.run("demo", "ECHO still here");
  CHECK(outcome_of(next) == "succeeded");
  const json again = stage.await_event("demo", "turn.started", string_or(next, "turn"));
  const auto pid = [](const json& e) {
    return int_or(object_at(object_at(e, "data"), "agent"), "pid", -1);
  };
  CHECK(pid(again) == pid(started));
}

SCENARIO("B16: an interrupt that is never acknowledged is escalated and ends as cancelled") {
  scene stage({.environment = {{"TIDEMARK_AGENT_INTERRUPT_GRACE", "300ms"},
                               {"TIDEMARK_AGENT_KILL_GRACE", "300ms"}}});
  for (const char* prompt : {"DEAF\nWORDS 1000 20", "DEAF\nTOOL sleep 600"}) {
    const std::string turn = stage.submit("demo", prompt);
    stage.await_event("demo", "item.started", turn);
    CHECK(stage.client.post(of("demo", "turns/" + turn + "/interrupt")).status < 300);
    CHECK(outcome_of(stage.completion("demo", turn, seconds(10))) == "cancelled");
    CHECK(outcome_of(stage.run("demo", "ECHO next")) == "succeeded");
  }
}

SCENARIO("B17: an interrupt at the very start of a turn is not lost") {
  interrupt_early(20);
}

SCENARIO("B17: the same two hundred times", "[long][.]") {
  interrupt_early(200);
}

SCENARIO(
  "B06: an agent that ignores everything is killed in bounded time, its last words are logged") {
  scene stage({.environment = {{"TIDEMARK_AGENT_INTERRUPT_GRACE", "500ms"},
                               {"TIDEMARK_AGENT_KILL_GRACE", "300ms"}}});
  const std::string turn = stage.submit("demo", "IGNORETERM\nWORDS 1000 50");
  const json started = stage.await_event("demo", "turn.started", turn);
  stage.await_event("demo", "item.delta", turn);
  const auto before = std::chrono::steady_clock::now();
  CHECK(stage.client.remove(of("demo", "turns/" + turn)).status < 300);
  CHECK(std::chrono::steady_clock::now() - before < seconds(1));
  CHECK(outcome_of(stage.completion("demo", turn, seconds(10))) == "cancelled");
  const auto again = stage.client.remove(of("demo", "turns/" + turn));
  CHECK(again.status == 200);
  CHECK_FALSE(bool_or(again.parsed(), "cancelled", true));
  const auto agent = static_cast<pid_t>(int_or(object_at(data_of(started), "agent"), "pid", -1));
  CHECK(poll_until([&] { return ::kill(agent, 0) != 0; })); // also waited for
  const auto said = stage.events("demo", "turn=" + turn);
  CHECK(count_of(said, "item.delta") > 0);
  CHECK(count_of(said, "item.started") == count_of(said, "item.completed"));
  CHECK(outcome_of(stage.run("demo", "hello")) == "succeeded");
  CHECK(count_of(stage.events("demo"), "turn.completed") == 2);
}

SCENARIO("B67: an agent killed from outside is noticed at once and the queue goes on") {
  scene stage;
  const std::string turn = stage.submit("demo", "SIGNAL 9");
  const std::string next = stage.submit("demo", "hello");
  const json completed = stage.completion("demo", turn, seconds(5));
  CHECK(outcome_of(completed) == "failed");
  CHECK(outcome_of(stage.completion("demo", next)) == "succeeded");
}
