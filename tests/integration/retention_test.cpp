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
    const auto behind = run_command(stage, "tail w --after 1");
    CHECK(behind.code != 0);
    CHECK(behind.out.find("the first one that is left is " + std::to_string(start))
          != std::string::npos);
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
  call.body = R"({"retain":{"age":"30d","bytes":"10GB","turns":null}})";
  CHECK(object_at(stage.client.send(call).parsed(), "retain")
        == json{{"age_s", 2'592'000}, {"bytes", 10'000'000'000}});
  const auto rules = object_at(stage.client.get(call.path).parsed(), "retention");
  CHECK(object_at(rules, "own") == json{{"age_s", 2'592'000}, {"bytes", 10'000'000'000}});
  CHECK(object_at(rules, "effective")["age_s"] == 2'592'000);
  CHECK(object_at(rules, "effective")["turns"].is_null());
  const auto set = run_command(stage, "retention w --age server --bytes 5MB --deltas 7d");
  CHECK(set.code == 0);
  CHECK(set.out.find("age     everything   the server's setting\n") != std::string::npos);
  CHECK(set.out.find("bytes   5000000      its own rule\n") != std::string::npos);
  CHECK(set.out.find("deltas  7d           its own rule\n") != std::string::npos);
  CHECK(run_command(stage, "retention w --age 30").code != 0);
  CHECK(run_command(stage, "retention w").out == set.out);
  call.body = R"({"retain":{"age":"soon"}})";
  CHECK(stage.client.send(call).status == 400);
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

SCENARIO("with retain.total_bytes the turns that ended first go, of whichever workspace, through "
         "kills too") {
  scene stage(keeping({}));
  const std::vector<std::string> workspaces{"a", "b"};
  for (const auto& workspace : workspaces) {
    stage.run(workspace, "WORDS 1500");
    stage.run(workspace, "hello");
    CHECK(removals(stage, workspace).empty());
  }
  const auto told = [&] { // up to where, over both: what tells of a removal may go by the next
    std::int64_t sum = 0;
    for (const auto& workspace : workspaces) {
      const auto all = removals(stage, workspace);
      sum += std::max(all.empty() ? 0 : int_or(data_of(all.back()), "to", 0),
                      first_of(stage, workspace) - 1);
    }
    return sum;
  };
  stage.server.set_environment("TIDEMARK_RETAIN_TOTAL_BYTES", "200KB");
  stage.kill_and_restart();
  int in_the_middle = 0;
  for (int round = 0; round < 4; ++round) {
    CAPTURE(round);
    const auto before = told();
    for (int i = 0; i < 10 && told() == before; ++i)
      stage.run(workspaces[static_cast<std::size_t>(i % 2)], "WORDS 1500");
    REQUIRE(poll_until([&] { return told() > before; }));
    stage.kill_and_restart();
    for (const auto& workspace : workspaces) {
      CAPTURE(workspace);
      const auto report = verified(stage, workspace);
      CHECK(bool_or(report, "ok", false));
      CHECK(string_or(report, "problem") == "");
      const auto all = removals(stage, workspace);
      if (all.empty())
        continue;
      const auto last = data_of(all.back());
      CHECK(string_or(last, "reason") == "total_bytes");
      CHECK(int_or(object_at(last, "policy"), "total_bytes", 0) == 200'000);
      in_the_middle += first_of(stage, workspace) <= int_or(last, "to", 0) ? 1 : 0;
      REQUIRE(poll_until([&] { return first_of(stage, workspace) > int_or(last, "to", 0); }));
    }
  }
  WARN(in_the_middle << " of 4 kills met a removal that was not over");
  for (const auto& workspace : workspaces)
    stage.run(workspace, "hello"); // so that its long turns may go
  REQUIRE(poll_until([&] {
    const auto metrics = stage.client.get("/metrics").body;
    return metrics.find("tidemark_log_kept_bytes 0\n") == std::string::npos
           && metrics.find("tidemark_log_kept_beyond_bytes 0\n") != std::string::npos;
  }));
  std::size_t bytes = 0;
  for (const auto& each : workspaces) {
    CHECK(bool_or(verified(stage, each), "ok", false));
    CHECK(turns_of(stage, each) >= 1);
    for (const auto& e : stage.events(each, "raw=true"))
      bytes += dump_json(data_of(e)).size();
  }
  CHECK(bytes < 220'000); // what tells of the removals comes on top, until the next look
}

SCENARIO(
  "a limit for all workspaces that cannot be kept is said once, and nothing that is needed goes") {
  scene stage(keeping({"--retain-total-bytes", "1KB"}));
  stage.run("w", "WORDS 100");
  const auto warnings = [&] {
    const auto output = stage.server.output();
    std::size_t count = 0;
    for (auto at = output.find("beyond retain.total_bytes"); at != std::string::npos;
         at = output.find("beyond retain.total_bytes", at + 1))
      ++count;
    return count;
  };
  REQUIRE(poll_until([&] { return warnings() > 0; }));
  stage.run("other", "WORDS 100");
  stage.run("other", "hello");
  REQUIRE(poll_until([&] { return turns_of(stage, "other") == 1; }));
  CHECK(warnings() == 1);
  CHECK(turns_of(stage) == 1);
  CHECK(first_of(stage) == 1);
  stage.run("w", "hello");
  CHECK(poll_until([&] { return turns_of(stage) == 1; }));
}

SCENARIO("a workspace whose queue is never empty is trimmed too, and what is left is proven") {
  scene stage(keeping({"--retain-turns", "3"}));
  std::vector<std::string> turns;
  turns.push_back(stage.submit("w", "WORDS 20 5"));
  for (int i = 0; i < 14; ++i) { // one always waits
    turns.push_back(stage.submit("w", "WORDS 20 5"));
    stage.completion("w", turns[turns.size() - 2]);
  }
  REQUIRE(poll_until([&] { return first_of(stage) > 1; }));
  stage.completion("w", turns.back());
  const auto told = removals(stage);
  REQUIRE_FALSE(told.empty());
  const auto report = verified(stage);
  CHECK(bool_or(report, "ok", false));
  CHECK(string_or(report, "problem") == "");
  stage.kill_and_restart();
  CHECK(bool_or(verified(stage), "ok", false));
  CHECK(dense_from(stage.events("w"), static_cast<std::uint64_t>(first_of(stage))));
  // The turns that are kept have all of their events.
  const auto listed = stage.client.get(of("w", "turns")).parsed();
  for (const auto& turn : array_at(listed, "turns")) {
    const auto events = stage.events("w", "turn=" + string_or(turn, "id"));
    REQUIRE_FALSE(events.empty());
    CHECK(string_or(events.front(), "type") == "turn.queued");
    CHECK(string_or(events.back(), "type") == "turn.completed");
  }
}

SCENARIO(
  "a checkpoint from before a removal still holds, and says what retention has taken since") {
  scene stage(keeping({}));
  stage.run("w", "ECHO one");
  stage.run("w", "ECHO two");
  stage.run("w", "ECHO three");
  const auto file = stage.server.path("checkpoint.json");
  REQUIRE(run_command(stage, "checkpoint -o " + file).code == 0);
  http_call call;
  call.method = "PATCH";
  call.path = "/api/v1/workspaces/w";
  call.body = R"({"retain":{"turns":2}})";
  REQUIRE(stage.client.send(call).status == 200);
  REQUIRE(poll_until([&] { return turns_of(stage) == 2; }));
  const auto asked = run_command(stage, "verify --checkpoint " + file);
  INFO(asked.out);
  CHECK(asked.code == 0);
  const auto last = first_of(stage) - 1;
  CHECK_THAT(asked.out, Catch::Contains("w holds what it held, but for events 1 to "
                                        + std::to_string(last) + ", which retention has removed")
                          && Catch::Contains("nothing removed but by retention"));
}
