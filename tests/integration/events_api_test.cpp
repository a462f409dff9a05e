// Reading the log: pages, NDJSON, long poll, filters and every kind of cursor.
#include "tests/integration/scene.hpp"

#include <catch2/catch.hpp>
#include <thread>

using namespace tidemark;
using namespace tidemark::test;

SCENARIO("a page holds what was asked for and says where the next one starts") {
  scene stage;
  stage.run("demo", "WORDS 20");
  const json page = stage.client.get(of("demo", "events?limit=5")).parsed();
  CHECK(array_at(page, "events").size() == 5);
  CHECK(int_or(page, "epoch", 0) >= 1);
  CHECK(int_or(page, "first", 0) == 1);
  CHECK(int_or(page, "head", 0) > 5);
  const json next = stage.client.get(of("demo", "events?limit=5&after=5")).parsed();
  CHECK(int_or(array_at(next, "events").at(0), "offset", 0) == 6);
}

SCENARIO("NDJSON streams all events and ends") {
  scene stage;
  stage.run("demo", "WORDS 20");
  const auto reply = stage.client.send(
    {.path = of("demo", "events"), .headers = {{"Accept", "application/x-ndjson"}}});
  REQUIRE(reply.status == 200);
  std::uint64_t expected_offset = 1;
  std::string_view rest = reply.body;
  while (!rest.empty()) {
    const auto line = parse_json(rest.substr(0, rest.find('\n')));
    REQUIRE(line);
    CHECK(int_or(*line, "offset", 0) == static_cast<std::int64_t>(expected_offset++));
    rest.remove_prefix(std::min(rest.find('\n') + 1, rest.size()));
  }
  CHECK(expected_offset - 1 == stage.events("demo").size());
}

SCENARIO("a long poll waits for the next event and returns it") {
  scene stage;
  stage.run("demo", "hello");
  const auto head = stage.events("demo").size();
  std::thread later([&] {
    stage.client.post(of("demo", "turns"), json::object({{"prompt", "again"}}));
  });
  const auto reply = stage.client.get(of("demo", "events?wait=20s&after=" + std::to_string(head)));
  later.join();
  REQUIRE(reply.status == 200);
  const json page = reply.parsed();
  REQUIRE_FALSE(array_at(page, "events").empty());
  CHECK(int_or(array_at(page, "events").at(0), "offset", 0) == static_cast<std::int64_t>(head + 1));
}

SCENARIO("types and turn narrow what comes, offsets stay those of the stream") {
  scene stage;
  stage.run("demo", "WORDS 5");
  const json second = stage.run("demo", "WORDS 5");
  const std::string turn = string_or(second, "turn");
  const auto ends = stage.events("demo", "types=turn.completed");
  CHECK(ends.size() == 2);
  const auto of_turn = stage.events("demo", "turn=" + turn);
  REQUIRE_FALSE(of_turn.empty());
  for (const json& e : of_turn) {
    CHECK(string_or(e, "turn") == turn);
  }
  const auto items = stage.events("demo", "types=item.*");
  for (const json& e : items) {
    CHECK(string_or(e, "type").starts_with("item."));
  }
}

SCENARIO("the agent's own line comes along only if it is asked for, byte for byte") {
  scene stage;
  stage.run("demo", "ECHO Grüße 漢字");
  bool some_raw = false;
  for (const json& e : stage.events("demo", "raw=true")) {
    const std::string raw = string_or(e, "raw");
    some_raw = some_raw || !raw.empty();
    CHECK((raw.empty() || parse_json(raw).has_value()));
  }
  CHECK(some_raw);
  for (const json& e : stage.events("demo")) {
    CHECK_FALSE(e.contains("raw"));
  }
}

SCENARIO(
  "B55: every cursor has a defined answer, never silence and never another workspace's events") {
  scene stage;
  stage.run("demo", "WORDS 5");
  stage.run("other", "WORDS 50");
  const auto logged = stage.events("demo");
  const std::string epoch = std::to_string(int_or(logged.front(), "epoch", 0));
  const std::string beyond = std::to_string(logged.size() + 1000);

  WHEN("the cursor is no cursor") {
    for (const char* bad :
         {"-1", "abc", "1e3", "18446744073709551616", "1-", "-", "1-2-3", "%20"}) {
      INFO("cursor " << bad);
      CHECK(stage.client.get(of("demo", "events?after=" + std::string(bad))).status == 400);
      const auto streamed =
        stage.client.send({.path = of("demo", "events"),
                           .headers = {{"Accept", "text/event-stream"}, {"Last-Event-ID", bad}},
                           .limit = std::chrono::seconds(5)});
      CHECK(streamed.status == 400);
    }
  }
  WHEN("the cursor lies beyond the head") {
    CHECK(stage.client.get(of("demo", "events?after=" + beyond)).status == 416);
    sse_reader::options how;
    how.headers["Last-Event-ID"] = epoch + "-" + beyond;
    sse_reader reader(stage.client, of("demo", "events"), how);
    REQUIRE(reader.wait_for("gap"));
    CHECK(string_or(reader.all().at(1).parsed(), "reason") == "ahead");
    stage.submit("demo", "hello");
    REQUIRE(reader.wait_for("turn.completed"));
    CHECK(dense_from(reader.events(), logged.size() + 1));
  }
  WHEN("the cursor is of another epoch") {
    CHECK(stage.client.get(of("demo", "events?after=999-3")).status == 409);
    sse_reader::options how;
    how.headers["Last-Event-ID"] = "999-3";
    sse_reader reader(stage.client, of("demo", "events"), how);
    REQUIRE(reader.wait_for("turn.completed"));
    CHECK(string_or(reader.all().at(1).parsed(), "reason") == "epoch");
    CHECK(dense_from(reader.events(), 1));
  }
  WHEN("the cursor is exactly the head") {
    const json page =
      stage.client.get(of("demo", "events?after=" + std::to_string(logged.size()))).parsed();
    CHECK(page.is_object());
    CHECK(array_at(page, "events").empty());
  }
  WHEN("header and query differ") {
    sse_reader::options how;
    how.headers["Last-Event-ID"] = epoch + "-3";
    sse_reader reader(stage.client, of("demo", "events?after=1"), how);
    REQUIRE(reader.wait_for("turn.completed"));
    THEN("the header wins") {
      CHECK(dense_from(reader.events(), 4));
    }
  }
  WHEN("the workspace does not exist") {
    CHECK(stage.client.get(of("nobody", "events")).status == 404);
  }
}

SCENARIO(
  "B60: the stream's head comes at once, is not to be buffered, and is kept alive by comments") {
  scene stage({.environment = {{"TIDEMARK_HTTP_HEARTBEAT", "200ms"}}});
  stage.run("demo", "hello");
  sse_reader reader(stage.client, of("demo", "events"));
  REQUIRE(reader.wait_for_status());
  CHECK(reader.status() == 200);
  const auto headers = reader.headers();
  CHECK(headers.at("content-type").starts_with("text/event-stream"));
  CHECK(headers.at("x-accel-buffering") == "no");
  CHECK(headers.at("cache-control").find("no-cache") != std::string::npos);
  CHECK(headers.count("tidemark-resumed-after") == 1);
  // Two turns of the stream with a heartbeat between them: frames stay whole.
  stage.run("demo", "PAUSE 1000\nECHO late");
  REQUIRE(reader.wait(
    [&](const auto& seen) { return !seen.empty() && seen.back().event == "turn.completed"; }));
  CHECK(reader.raw().find(":hb\n") != std::string::npos);
  CHECK(reader.raw().find('\r') == std::string::npos);
  CHECK(dense_from(reader.events(), 1));
}

SCENARIO(
  "B30: what a background task says after the result is logged at once, not at the next prompt") {
  scene stage;
  const json completed = stage.run("demo", "BACKGROUND 300");
  const auto end = static_cast<std::uint64_t>(int_or(completed, "offset", 0));
  sse_reader::options how;
  how.headers["Last-Event-ID"] = std::to_string(end);
  sse_reader reader(stage.client, of("demo", "events"), how);
  REQUIRE(reader.wait([](const auto& seen) {
    for (const sse_frame& frame : seen) {
      if (frame.data.find("The background job finished.") != std::string::npos) {
        return true;
      }
    }
    return false;
  }));
  CHECK(count_of(stage.events("demo"), "turn.completed") == 1);
}
