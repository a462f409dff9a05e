// The main job: a task goes in, its events are logged, a reader follows, drops, comes back, and the
// server dies in between. Promises 1 to 3 of docs/architecture.md over real HTTP.
#include "tests/integration/shell_scene.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/process_memory.hpp"
#include "tests/support/sanitized.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;

namespace {

bool ends(const sse_frame& frame, const std::string& turn) {
  return frame.event == "turn.completed" && string_or(frame.parsed(), "turn") == turn;
}

// Reads on from a cursor until the turn's end.
sse_reader::frames read_on(const scene& stage, const std::string& workspace,
                           const std::string& cursor, const std::string& turn) {
  sse_reader::options how;
  how.headers["Last-Event-ID"] = cursor;
  sse_reader reader(stage.client, of(workspace, "events"), how);
  const bool finished = reader.wait([&](const sse_reader::frames& seen) {
    return std::any_of(seen.begin(), seen.end(),
                       [&](const auto& each) { return ends(each, turn); });
  });
  INFO(reader.raw());
  REQUIRE(finished);
  return reader.events();
}

/// A stalled reader, a normal one and one who types in a shell, beside turns that say so much.
/// In the end the stalled one reads on, or has been dropped if its time was short.
void stall_beside_others(int turns, const std::string& prompt, bool shortly) {
  scene stage({.environment = {{"TIDEMARK_HTTP_WRITE_TIMEOUT", shortly ? "3s" : "60s"}}});
  sse_reader::options stalled;
  stalled.stalled = true;
  stage.run("demo", "hello");
  sse_reader slow(stage.client, of("demo", "events"), stalled);
  REQUIRE(slow.wait_for_status());
  const auto shell = attach(stage, open_shell(stage, "demo"));
  std::uint64_t resident = 0;
  constexpr std::uint64_t spared_kib = 64 << 10;
  std::uint64_t head = 0;
  for (int i = 0; i < turns; ++i) {
    sse_reader quick(stage.client, of("demo", "events?after=" + std::to_string(head)));
    REQUIRE(quick.wait_for_status());
    const std::string turn = stage.submit("demo", prompt);
    REQUIRE(quick.wait([&](const auto& seen) { return !seen.empty() && ends(seen.back(), turn); },
                       std::chrono::seconds(120)));
    const auto seen = quick.events();
    CHECK(dense_from(seen, head + 1));
    head = seen.back().offset();
    const auto word = "turn-" + std::to_string(i);
    shell->type("echo " + word + "-$((1 + 1))\r");
    CHECK(shell->wait_for_output(word + "-2"));
    const auto now = status_figure(stage.server.pid(), "VmRSS");
    resident = i == 0 ? now : resident;
    INFO("after turn " << i << ": " << now << " KiB");
    CHECK((sanitized || now < resident + spared_kib));
  }
  CHECK(slow.events().empty());
  if (shortly) {
    CHECK(poll_until([&] {
      return metric(stage.client.get("/metrics").body, "tidemark_slow_readers_total") >= 1;
    }));
    return;
  }
  slow.resume();
  CHECK(slow.wait([&](const auto& seen) { return !seen.empty() && seen.back().offset() >= head; },
                  std::chrono::seconds(60)));
  CHECK(dense_from(slow.events(), 1));
}

} // namespace

SCENARIO(
  "a task goes in, its events are logged, and a reader sees each of them once and in order") {
  scene stage;
  const std::string turn = stage.submit("demo", "WORDS 20 5");
  sse_reader reader(stage.client, of("demo", "events"));
  REQUIRE(reader.wait_for("turn.completed"));
  const auto seen = reader.events();
  CHECK(dense_from(seen, 1));
  CHECK(reader.all().front().event == "hello");

  const auto logged = stage.events("demo");
  REQUIRE(seen.size() <= logged.size());
  CHECK(dense_from(logged, 1));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    CHECK(seen[i].parsed() == logged[i]);
  }
  CHECK(count_of(logged, "workspace.created") == 1);
  CHECK(count_of(logged, "turn.queued") == 1);
  CHECK(count_of(logged, "turn.started") == 1);
  CHECK(count_of(logged, "turn.completed") == 1);
  const json completed = stage.completion("demo", turn);
  CHECK(string_or(object_at(completed, "data"), "outcome") == "succeeded");
}

SCENARIO("a reader that drops in the middle of a turn resumes with its offset and misses nothing") {
  scene stage;
  const std::string turn = stage.submit("demo", "WORDS 100 5");
  sse_reader::frames first;
  std::string cursor;
  {
    sse_reader reader(stage.client, of("demo", "events"));
    REQUIRE(reader.wait([](const auto& seen) { return seen.size() > 20; }));
    reader.leave(leaving::by_reset);
    first = reader.events();
    cursor = reader.last_id();
  }
  const auto rest = read_on(stage, "demo", cursor, turn);
  CHECK(dense_from(first, 1));
  CHECK(dense_from(rest, first.back().offset() + 1));
}

SCENARIO("B59: the server is killed between; the reader's offset still means the same, the rest is "
         "exact") {
  scene stage;
  stage.run("demo", "WORDS 30");
  const auto before = stage.events("demo");
  const std::string cursor = std::to_string(int_or(before.front(), "epoch", 0)) + "-10";
  stage.submit("demo", "WORDS 1000 5");
  stage.await_event("demo", "turn.started");
  stage.kill_and_restart();

  const std::string later = stage.submit("demo", "ECHO after the crash");
  const auto rest = read_on(stage, "demo", cursor, later);
  CHECK(dense_from(rest, 11));
  for (const sse_frame& frame : rest) {
    if (frame.offset() <= before.size()) {
      CHECK(frame.parsed() == before[frame.offset() - 1]);
    }
  }
  const auto logged = stage.events("demo");
  CHECK(dense_from(logged, 1));
  CHECK(count_of(logged, "turn.completed") == 3);
}

SCENARIO("B62: of two readers one stalls: the other one and the agent are not slowed") {
  stall_beside_others(1, "WORDS 20000", false);
}

SCENARIO("B62: the same with 200 MB, in bounded memory", "[long][.]") {
  std::string prompt; // of 25 MB
  for (int i = 0; i < 50; ++i) {
    prompt += "HUGE 500000\n";
  }
  stall_beside_others(8, prompt, true);
}

SCENARIO("B62: a reader that was dropped because it stalled comes back without a gap") {
  scene stage({.environment = {{"TIDEMARK_HTTP_WRITE_TIMEOUT", "1s"}}});
  std::string prompt;
  for (int i = 0; i < 20; ++i) {
    prompt += "HUGE 500000\n";
  }
  const std::string turn = string_or(stage.run("demo", prompt), "turn");
  sse_reader::frames first;
  {
    sse_reader::options how;
    how.stalled = true;
    sse_reader stalled(stage.client, of("demo", "events?raw=true"), how);
    REQUIRE(stalled.wait_for_status());
    REQUIRE(poll_until([&] {
      return metric(stage.client.get("/metrics").body, "tidemark_slow_readers_total") >= 1;
    }));
    stalled.resume();
    REQUIRE(stalled.wait_for_end());
    first = stalled.events();
  }
  const std::string cursor = first.empty() ? "0" : first.back().id;
  const auto logged = stage.events("demo");
  CHECK(first.size() < logged.size());
  CHECK(dense_from(first, 1));
  CHECK(dense_from(read_on(stage, "demo", cursor, turn), first.size() + 1));
}

SCENARIO("B58: a reader that comes in the same moment as the first task gets the first event") {
  scene stage;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "fresh-" + std::to_string(i);
    stage.submit(name, "hello");
    sse_reader::options how;
    if (i % 2 == 1) {
      how.headers["Last-Event-ID"] = "0";
    }
    sse_reader reader(stage.client, of(name, "events"), how);
    REQUIRE(reader.wait_for("turn.completed"));
    CHECK(dense_from(reader.events(), 1));
  }
}
