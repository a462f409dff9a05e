// Queue, pending results, sessions and the small calls of the drop-in contract.
#include "tests/integration/scene.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

json pending(const scene& stage, const std::string& query = "") {
  return stage.client.get(of("demo", "pending-results" + query)).parsed();
}

bool idle(const scene& stage) {
  const json queue = stage.queue("demo");
  return queue.at("current_task").is_null() && int_or(queue, "queue_length", -1) == 0;
}

} // namespace

SCENARIO("contract, Endpoints: the queue shows what runs and what waits") {
  scene stage;
  sse_reader running(stage.client, message_stream_path,
                     message_stream("demo", "SLOW 1500", "chat-1"));
  stage.await_event("demo", "turn.started");
  sse_reader waiting(stage.client, message_stream_path,
                     message_stream("demo", "ECHO two\nlines " + std::string(100, 'x'), "chat-2"));
  REQUIRE(waiting.wait_for("queued"));
  const json queue = stage.queue("demo");
  INFO(queue.dump());
  CHECK(string_or(queue, "workspace_id") == "demo");
  CHECK(int_or(queue, "queue_length", 0) == 1);
  const json& current = object_at(queue, "current_task");
  CHECK(string_or(current, "source_chat_key") == "chat-1");
  CHECK(current.at("elapsed_seconds").is_number());
  CHECK(current.at("wait_seconds").is_number());
  CHECK(string_or(current, "started_at").size() > 10);
  const json& next = array_at(queue, "queued_tasks").at(0);
  CHECK(next.at("started_at").is_null());
  CHECK(string_or(next, "prompt_preview")
        == ("ECHO two lines " + std::string(100, 'x')).substr(0, 80));
  const json queued = of_type(waiting.all(), "queued").front();
  CHECK(int_or(queued, "position", 0) == 1);
  CHECK(int_or(queued, "queue_length", 0) == 1);
  CHECK(queued.contains("queued_count"));
  CHECK(string_or(object_at(queued, "current_task"), "source_chat_key") == "chat-1");
  REQUIRE(waiting.wait_for_end());
  CHECK(idle(stage));
  CHECK(string_or(stage.client.get("/api/v1/workspaces/demo").parsed(), "status") == "idle");
}

SCENARIO(
  "contract, Queue and cancel: a client that leaves while its task waits takes the task with it") {
  scene stage;
  sse_reader running(stage.client, message_stream_path, message_stream("demo", "SLOW 1500"));
  stage.await_event("demo", "turn.started");
  {
    sse_reader waiting(stage.client, message_stream_path,
                       message_stream("demo", "TOOL touch must-not-exist"));
    REQUIRE(waiting.wait_for("queued"));
  }
  CHECK(poll_until([&] { return int_or(stage.queue("demo"), "queue_length", -1) == 0; }));
  REQUIRE(running.wait_for_end());
  CHECK(poll_until([&] { return idle(stage); }));
  CHECK_FALSE(std::filesystem::exists(stage.server.workspace("demo") + "/must-not-exist"));
}

SCENARIO("B63: clients whose network goes without a word are dropped, and only they") {
  scene stage(
    {.environment = {{"TIDEMARK_HTTP_WRITE_TIMEOUT", "1s"}, {"TIDEMARK_HTTP_HEARTBEAT", "200ms"}}});
  const auto connections = [&] {
    return metric(stage.client.get("/metrics").body, "tidemark_http_connections");
  };
  const double alone = connections(); // with the one that asks
  sse_reader other(stage.client, message_stream_path, message_stream("other", "SLOW 4000"));
  stage.await_event("other", "turn.started");
  sse_reader follower(stage.client, of("other", "events"));
  sse_reader running(stage.client, message_stream_path, message_stream("demo", "SLOW 4000"));
  stage.await_event("demo", "turn.started");
  sse_reader waiting(stage.client, message_stream_path, message_stream("demo", "ECHO never"));
  sse_reader reading(stage.client, of("demo", "events"));
  REQUIRE(waiting.wait_for("queued"));
  REQUIRE(reading.wait_for("turn.started"));
  for (auto* each : {&running, &waiting, &reading}) {
    each->leave(leaving::silently);
  }
  CHECK(poll_until([&] { return connections() <= alone + 2; }));
  CHECK_FALSE(stage.queue("demo").at("current_task").is_null()); // still the first
  CHECK(int_or(stage.queue("demo"), "queue_length", -1) == 0);   // who waits takes the task along
  REQUIRE(other.wait_for_end());
  CHECK(other.ended_properly());
  CHECK(follower.wait_for("turn.completed"));
  CHECK(poll_until([&] { return int_or(pending(stage, "?ack=false"), "count", 0) == 1; }));
  CHECK(count_of(stage.events("demo"), "result.delivered") == 0);
  CHECK(int_or(stage.client.get(of("other", "pending-results")).parsed(), "count", -1) == 0);
}

SCENARIO("B63: a client that leaves while its task runs finds the result pending, once, also after "
         "a restart") {
  scene stage({.environment = {{"TIDEMARK_HTTP_WRITE_TIMEOUT", "1s"}}});
  const auto how = GENERATE(leaving::politely, leaving::by_reset, leaving::silently);
  sse_reader reader(stage.client, message_stream_path,
                    message_stream("demo", "PAUSE 500\nECHO kept for later", "chat-7"));
  stage.await_event("demo", "turn.started");
  reader.leave(how);
  REQUIRE(poll_until(
    [&] { return idle(stage) && int_or(pending(stage, "?ack=false"), "count", 0) == 1; }));
  stage.kill_and_restart();
  const json peek = pending(stage, "?ack=false");
  CHECK(int_or(peek, "count", 0) == 1);
  const json taken = pending(stage);
  REQUIRE(int_or(taken, "count", 0) == 1);
  const json& result = array_at(taken, "results").at(0);
  CHECK(string_or(result, "result") == "kept for later");
  CHECK(string_or(result, "source_chat_key") == "chat-7");
  CHECK(string_or(result, "id") == string_or(array_at(peek, "results").at(0), "id"));
  CHECK_FALSE(bool_or(result, "is_error", true));
  CHECK(poll_until([&] { return int_or(pending(stage, "?ack=false"), "count", -1) == 0; }));
  CHECK(count_of(stage.events("demo"), "result.pending") == 1);
  CHECK(count_of(stage.events("demo"), "result.delivered") == 1);
}

SCENARIO("contract, Pending results: a result that its stream delivered is never pending") {
  scene stage;
  sse_reader reader(stage.client, message_stream_path, message_stream("demo", "ECHO delivered"));
  REQUIRE(reader.wait_for_end());
  stage.run("demo", "another turn settles what is left");
  CHECK(int_or(pending(stage), "count", -1) == 0);
}

SCENARIO(
  "contract, Pending results: a failure is kept with its code; a cancelled task is not kept") {
  scene stage;
  {
    sse_reader reader(stage.client, message_stream_path,
                      message_stream("demo", "PAUSE 500\nERROR it broke"));
    stage.await_event("demo", "turn.started");
  }
  REQUIRE(poll_until([&] { return int_or(pending(stage, "?ack=false"), "count", 0) == 1; }));
  const json kept = pending(stage);
  const json& failure = array_at(kept, "results").at(0);
  CHECK(bool_or(failure, "is_error", false));
  CHECK(string_or(failure, "error_code") == "CLAUDE_CLI_ERROR_RESULT");
  CHECK(string_or(failure, "result").find("it broke") != std::string::npos);
  {
    sse_reader reader(stage.client, message_stream_path, message_stream("demo", "WORDS 1000 50"));
    REQUIRE(reader.wait_for("chunk"));
  }
  CHECK(bool_or(stage.client.remove(of("demo", "queue/current")).parsed(), "cancelled", false));
  REQUIRE(poll_until([&] { return idle(stage); }));
  CHECK(int_or(pending(stage), "count", -1) == 0);
}

SCENARIO("contract, Sessions, settings, policy: the session is resumed, also after a restart; a "
         "reset forgets it") {
  scene stage;
  const auto ask = [&] {
    return stage.client.post("/api/v1/message", message("demo", "hello")).parsed();
  };
  const json first = ask();
  stage.kill_and_restart();
  const json second = ask();
  CHECK(string_or(second, "session_id") == string_or(first, "session_id"));
  CHECK(string_or(second, "message").find("turn 2") != std::string::npos);
  const json sessions = stage.client.get("/api/v1/sessions").parsed();
  CHECK(string_or(array_at(sessions, "sessions").at(0), "session_id")
        == string_or(first, "session_id"));

  const json reset =
    stage.client.send({.method = "POST", .path = of("demo", "session/reset"), .body = ""}).parsed();
  CHECK(string_or(reset, "status") == "ok");
  CHECK(string_or(reset, "old_session_id") == string_or(first, "session_id"));
  CHECK(reset.at("new_session_id").is_null());
  const json third = ask();
  CHECK(string_or(third, "session_id") != string_or(first, "session_id"));
  CHECK(string_or(third, "message").find("turn 1") != std::string::npos);
}

SCENARIO("contract, Sessions, settings, policy: a reset during a run answers at once, and that run "
         "does not write its session back") {
  scene stage;
  sse_reader reader(stage.client, message_stream_path, message_stream("demo", "WORDS 100 10"));
  REQUIRE(reader.wait_for("chunk"));
  const auto before = std::chrono::steady_clock::now();
  CHECK(stage.client.post(of("demo", "session/reset")).status == 200);
  CHECK(std::chrono::steady_clock::now() - before < seconds(1));
  REQUIRE(reader.wait_for_end());
  const json info = stage.client.get("/api/v1/workspaces/demo").parsed();
  CHECK(info.at("session_id").is_null());
}

SCENARIO("B40: a conversation that the agent has lost is begun anew within the same task") {
  scene stage;
  stage.client.post("/api/v1/message", message("demo", "hello"));
  stage.server.kill();
  std::size_t removed = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(stage.server.path("data"))) {
    if (entry.path().extension() == ".jsonl") {
      removed += std::filesystem::remove(entry.path()) ? 1 : 0;
    }
  }
  REQUIRE(removed >= 1); // the capability probe may have left a conversation of its own
  stage.server.start();
  stage.reconnect();
  sse_reader reader(stage.client, message_stream_path, message_stream("demo", "hello"));
  REQUIRE(reader.wait_for_end());
  INFO(reader.raw());
  CHECK(of_type(reader.all(), "error").empty());
  CHECK(joined_chunks(reader.all()).find("turn 1") != std::string::npos);
  CHECK(count_of(stage.events("demo"), "session.lost") == 1);
}

SCENARIO("contract, Endpoints: the small calls have the shape that the existing clients parse") {
  scene stage;
  stage.client.post("/api/v1/message", message("demo", "hello"));
  const json list = stage.client.get("/api/v1/workspaces").parsed();
  REQUIRE(array_at(list, "workspaces").size() == 1);
  const json info = stage.client.get("/api/v1/workspaces/demo").parsed();
  for (const char* field : {"id", "name", "path", "created_at", "updated_at", "status"}) {
    INFO(field);
    CHECK_FALSE(string_or(info, field).empty());
  }
  CHECK(info.at("metadata").is_object());
  CHECK(stage.client.get("/api/v1/workspaces/nobody").status == 404);
  CHECK(
    object_at(stage.client.get("/api/v1/workspaces/nobody").parsed(), "error").contains("err_id"));
  CHECK(int_or(stage.client.get(of("nobody", "pending-results")).parsed(), "count", -1) == 0);
  CHECK_FALSE(
    bool_or(stage.client.remove(of("nobody", "queue/current")).parsed(), "cancelled", true));
  CHECK(stage.client.get("/api/v1/sessions/nobody").status == 404);

  const json tools = stage.client
                       .send({.method = "POST",
                              .path = "/api/v1/capabilities/tools/refresh",
                              .body = "",
                              .limit = seconds(60)})
                       .parsed();
  CHECK(string_or(tools, "source") == "probe");
  const json cached = stage.client.get("/api/v1/capabilities/tools").parsed();
  CHECK(string_or(cached, "source") == "cache");
  CHECK(cached.at("tools") == tools.at("tools"));
  const json status = stage.client.get("/api/v1/status").parsed();
  CHECK(string_or(status, "status") == "healthy");
  CHECK(string_or(object_at(status, "services"), "claude_runtime") == "available");
  CHECK(int_or(object_at(status, "workspaces"), "count", 0) == 1);
}
