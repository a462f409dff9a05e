// The real server forgets what it was told to, says so, and what is left is still proven.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;
using namespace std::chrono_literals;

namespace {

server_options keeping(std::vector<std::string> arguments) {
  server_options how;
  how.arguments = std::move(arguments);
  how.arguments.insert(how.arguments.end(), {"--retain-sweep", "50ms"});
  return how;
}

json verified(const scene& stage, const std::string& workspace = "w") {
  return stage.client.get(of(workspace, "verify")).parsed();
}

std::int64_t first_of(const scene& stage, const std::string& workspace = "w") {
  return int_or(stage.client.get(of(workspace, "events?limit=1")).parsed(), "first", 0);
}

std::vector<json> removals(const scene& stage, const std::string& workspace = "w") {
  return stage.events(workspace, "types=events.removed");
}

std::size_t turns_of(const scene& stage, const std::string& workspace = "w") {
  return array_at(stage.client.get(of(workspace, "turns")).parsed(), "turns").size();
}

} // namespace

SCENARIO("with retain.turns the oldest turns go, readers of them hear it, and the chain holds") {
  scene stage(keeping({"--retain-turns", "2"}));
  const auto first = string_or(stage.run("w", "hello"), "turn");
  stage.run("w", "TOOL echo second");
  stage.run("w", "WORDS 20");
  stage.run("w", "hello again");
  REQUIRE(poll_until([&] { return turns_of(stage) == 2; }));
  const auto start = first_of(stage);
  CHECK(start > 1);

  const auto told = removals(stage);
  REQUIRE_FALSE(told.empty());
  CHECK(string_or(data_of(told.back()), "what") == "turns");
  CHECK(string_or(data_of(told.back()), "reason") == "turns");
  CHECK(int_or(data_of(told.back()), "to", 0) == start - 1);
  for (const bool restarted : {false, true}) {
    CAPTURE(restarted);
    if (restarted)
      stage.kill_and_restart();
    const auto report = verified(stage);
    CHECK(bool_or(report, "ok", false));
    CHECK(string_or(report, "problem") == "");
    CHECK(int_or(report, "first", 0) == start);
    CHECK(int_or(object_at(report, "removed"), "events", 0) == start - 1);

    sse_reader reader(stage.client, of("w", "events?after=1"));
    REQUIRE(reader.wait_for("gap"));
    const auto gap = reader.all().at(1).parsed();
    CHECK(string_or(gap, "reason") == "trimmed");
    CHECK(int_or(gap, "first", 0) == start);
    REQUIRE(reader.wait([](const auto& frames) { return frames.size() > 3; }));
    CHECK(reader.events().front().offset() == static_cast<std::uint64_t>(start));
    CHECK(stage.client.get(of("w", "events?after=1")).status == 410);
    CHECK(dense_from(stage.events("w"), static_cast<std::uint64_t>(start)));
    CHECK(stage.client.get(of("w", "turns/" + first)).status == 404);

    const auto found = stage.client.get("/api/v1/events?types=turn.completed&workspace=w").parsed();
    CHECK(array_at(found, "events").size() == 2);
    const auto all = stage.client.get("/api/v1/events?workspace=w&limit=10000").parsed();
    CHECK(array_at(all, "events").size() == stage.events("w").size());
  }
  stage.run("w", "goes on");
  REQUIRE(poll_until([&] { return turns_of(stage) == 2; }));
  CHECK(bool_or(verified(stage), "ok", false));
  const auto metrics = stage.client.get("/metrics").body;
  CHECK(metrics.find("tidemark_log_events_removed_total{what=\"events\"} 0") == std::string::npos);
}

SCENARIO("who asks for the beginning gets what is left of it, also while retention removes") {
  scene stage(keeping({"--retain-turns", "1"}));
  for (int turn = 0; turn < 20; ++turn) {
    stage.run("w", "WORDS 5");
    for (int look = 0; look < 20; ++look) {
      const auto answer = stage.client.get(of("w", "events?limit=1"));
      REQUIRE(answer.status == 200);
      const auto page = answer.parsed();
      const auto& events = array_at(page, "events");
      REQUIRE(events.size() == 1);
      CHECK(int_or(events.front(), "offset", 0) >= int_or(page, "first", 0));
    }
  }
  CHECK(first_of(stage) > 1);
  const auto late = stage.client.get(of("w", "events?after=1"));
  CHECK(late.status == 410);
  CHECK(int_or(late.parsed(), "first", 0) > 1);
}

SCENARIO("with retain.deltas finished items keep their text and deltas only their places") {
  scene stage(keeping({"--retain-deltas", "1ms"}));
  stage.run("w", "WORDS 30");
  REQUIRE(
    poll_until([&] { return int_or(object_at(verified(stage), "removed"), "deltas", 0) > 0; }));
  const auto told = removals(stage);
  REQUIRE_FALSE(told.empty());
  CHECK(string_or(data_of(told.front()), "what") == "deltas");
  REQUIRE(poll_until([&] {
    const auto deltas = stage.events("w", "types=item.delta");
    return std::ranges::all_of(deltas,
                               [](const json& e) { return bool_or(data_of(e), "removed", false); });
  }));
  std::string text;
  for (const auto& e : stage.events("w", "types=item.completed&raw=true"))
    text += string_or(object_at(data_of(e), "item"), "text");
  CHECK(text.size() > 30);
  CHECK(dense_from(stage.events("w"), 1));
  stage.kill_and_restart();
  stage.run("w", "hello");
  const auto report = verified(stage);
  CHECK(bool_or(report, "ok", false));
  CHECK(string_or(report, "problem") == "");
  const auto said = run_command(stage, "verify w");
  CHECK(said.code == 0);
  CHECK(said.out.find("lost their text") != std::string::npos);
}

SCENARIO("a workspace has rules of its own, by an administrator") {
  scene stage(keeping({}));
  stage.run("w", "hello");
  stage.run("w", "hello");
  stage.run("w", "hello");
  stage.run("other", "hello");
  stage.run("other", "hello");
  http_call call;
  call.method = "PATCH";
  call.path = of("w", "");
  call.path.pop_back();
  call.body = R"({"retain":{"turns":1}})";
  const auto changed = stage.client.send(call);
  REQUIRE(changed.status == 200);
  CHECK(object_at(changed.parsed(), "retain") == json{{"turns", 1}});
  REQUIRE(poll_until([&] { return turns_of(stage) == 1; }));
  CHECK(bool_or(verified(stage), "ok", false));
  CHECK(turns_of(stage, "other") == 2);
  CHECK(first_of(stage, "other") == 1);
  const auto told = stage.events("w", "types=workspace.configured");
  REQUIRE(told.size() == 1);
  CHECK_FALSE(string_or(data_of(told.front()), "by").empty());

  stage.kill_and_restart();
  stage.run("w", "hello");
  CHECK(poll_until([&] { return turns_of(stage) == 1; }));
  call.body = R"({"retain":{"turns":-1}})";
  CHECK(stage.client.send(call).status == 400);
  call.body = R"({"agent":"claude"})";
  CHECK(stage.client.send(call).status == 400);
  call.path = "/api/v1/workspaces/nobody";
  call.body = "{}";
  CHECK(stage.client.send(call).status == 404);
}

SCENARIO("a server that is killed while it removes leaves what verifies, and completes it") {
  scene stage(keeping({"--retain-turns", "1", "--retain-deltas", "1ms"}));
  for (int round = 0; round < 5; ++round) {
    CAPTURE(round);
    stage.run("w", "WORDS 200");
    stage.submit("w", "WORDS 50");
    stage.await_event("w", "events.removed");
    stage.kill_and_restart();
    const auto report = verified(stage);
    CHECK(bool_or(report, "ok", false));
    CHECK(string_or(report, "problem") == "");
  }
  // The first may still be queued within what the last kill left, and then neither goes without the other.
  stage.run("w", "hello");
  stage.run("w", "hello again");
  REQUIRE(poll_until([&] { return turns_of(stage) == 1; }));
  CHECK(bool_or(verified(stage), "ok", false));
}
