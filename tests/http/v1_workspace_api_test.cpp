#include "tests/http/v1_stage.hpp"
#include "tests/support/text.hpp"
#include "tests/support/v1_client.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <set>
#include <thread>

using namespace tidemark::test;
using namespace v1_test;

namespace {

using names = std::set<std::string>;

command submission(bool holds_result) {
  submit_turn turn;
  turn.prompt = "hi";
  turn.source = "chat";
  turn.holds_result = holds_result;
  return turn;
}

void add_pending(v1_stage& stage, const std::string& text) {
  stage.workspaces.ask("w", true, submission(true));
  const auto turn = stage.workspaces.begun("w");
  stage.workspaces.start("w", turn);
  stage.workspaces.ask("w", true, client_left{turn});
  stage.workspaces.succeed("w", turn, text);
}

/// `count` pending results, oldest first.
void make_pending(v1_stage& stage, int count) {
  for (int i = 0; i < count; ++i)
    add_pending(stage, "result " + std::to_string(i));
}

} // namespace

SCENARIO("workspaces and sessions are listed and found by their names") {
  v1_stage stage;
  CHECK(call(stage.port, "GET", "/api/v1/workspaces").body.at("workspaces").empty());
  stage.workspaces.ask("w.1", true, submission(false));
  const auto turn = stage.workspaces.begun("w.1");
  stage.workspaces.start("w.1", turn);
  const auto list = call(stage.port, "GET", "/api/v1/workspaces");
  REQUIRE(list.body.at("workspaces").size() == 1);
  const auto& line = list.body.at("workspaces").front();
  CHECK(string_or(line, "status") == "busy");
  CHECK(string_or(line, "path") == "/workspaces/w.1");
  CHECK(call(stage.port, "GET", "/api/v1/sessions").body.at("sessions").empty());
  stage.workspaces.succeed("w.1", turn, "x");
  const auto one = call(stage.port, "GET", "/api/v1/workspaces/w.1");
  CHECK(one.status == 200);
  CHECK(object_at(one.body, "retention").contains("effective"));
  auto common = keys(one.body);
  common.erase("retention"); // of one workspace only
  CHECK(common == keys(line));
  CHECK(string_or(one.body, "status") == "idle");
  CHECK(string_or(one.body, "session_id") == "session-of-w.1");
  const auto sessions = call(stage.port, "GET", "/api/v1/sessions");
  REQUIRE(sessions.body.at("sessions").size() == 1);
  CHECK(keys(sessions.body.at("sessions").front()) == names{"workspace_id", "session_id"});
  for (const auto* id : {"w.1", "session-of-w.1"})
    CHECK(
      string_or(call(stage.port, "GET", std::string{"/api/v1/sessions/"} + id).body, "workspace_id")
      == "w.1");
}

SCENARIO("what is not there is a 404 with an ErrorInfo, and malformed ids are a 400") {
  v1_stage stage;
  const auto workspace = call(stage.port, "GET", "/api/v1/workspaces/nobody");
  CHECK(workspace.status == 404);
  CHECK(keys(workspace.body) == names{"error"});
  CHECK(keys(workspace.body.at("error"))
        == names{"err_id", "code", "message", "retryable", "details"});
  CHECK(string_or(workspace.body.at("error"), "code") == "WORKSPACE_NOT_FOUND");
  CHECK(call(stage.port, "GET", "/api/v1/sessions/nobody").status == 404);
  for (const auto* id : {"%2e%2e", ".hidden", "a%20b", "%E4%BD%A0"})
    for (const auto* rest : {"", "/queue", "/pending-results"}) {
      INFO(id << rest);
      const auto answer = call(stage.port, "GET", std::string{"/api/v1/workspaces/"} + id + rest);
      CHECK(answer.status == 400);
      CHECK(keys(answer.body) == names{"error"});
    }
}

SCENARIO(
  "a workspace that no task has created has an empty queue, nothing to cancel and no session") {
  v1_stage stage;
  const auto queue = call(stage.port, "GET", "/api/v1/workspaces/new/queue");
  CHECK(queue.status == 200);
  CHECK(queue.body.at("current_task").is_null());
  CHECK(int_or(queue.body, "queue_length", -1) == 0);
  const auto cancelled = call(stage.port, "DELETE", "/api/v1/workspaces/new/queue/current");
  CHECK(cancelled.status == 200);
  CHECK_FALSE(bool_or(cancelled.body, "cancelled", true));
  const auto reset = call(stage.port, "POST", "/api/v1/workspaces/new/session/reset");
  CHECK(reset.status == 200);
  CHECK(reset.body.at("old_session_id").is_null());
  CHECK(call(stage.port, "GET", "/api/v1/workspaces").body.at("workspaces").empty());
}

SCENARIO("the queue shows the running task and those that wait, with every number set") {
  v1_stage stage;
  for (int i = 0; i < 3; ++i)
    stage.workspaces.ask("w", true, submission(false));
  stage.workspaces.start("w", stage.workspaces.begun("w"));
  const auto queue = call(stage.port, "GET", "/api/v1/workspaces/w/queue");
  CHECK(keys(queue.body) == names{"workspace_id", "current_task", "queued_tasks", "queue_length"});
  CHECK(int_or(queue.body, "queue_length", -1) == 2);
  REQUIRE(queue.body.at("queued_tasks").size() == 2);
  auto tasks = queue.body.at("queued_tasks");
  CHECK(tasks.front().at("started_at").is_null());
  tasks.push_back(queue.body.at("current_task"));
  for (const auto& task : tasks) {
    CHECK(keys(task)
          == names{"task_id", "source_chat_key", "prompt_preview", "enqueued_at", "started_at",
                   "elapsed_seconds", "wait_seconds"});
    CHECK(task.at("elapsed_seconds").is_number());
    CHECK(task.at("wait_seconds").is_number());
    CHECK(string_or(task, "source_chat_key") == "chat");
  }
}

SCENARIO("a reset answers at once while a task runs, and says which session was forgotten") {
  v1_stage stage;
  stage.workspaces.ask("w", true, submission(false));
  auto turn = stage.workspaces.begun("w");
  stage.workspaces.start("w", turn);
  stage.workspaces.succeed("w", turn, "x");
  stage.workspaces.ask("w", true, submission(false));
  turn = stage.workspaces.begun("w");
  stage.workspaces.start("w", turn);
  const auto reset = call(stage.port, "POST", "/api/v1/workspaces/w/session/reset");
  CHECK(reset.status == 200);
  CHECK(keys(reset.body) == names{"status", "workspace_id", "old_session_id", "new_session_id"});
  CHECK(string_or(reset.body, "old_session_id") == "session-of-w");
  stage.workspaces.succeed("w", turn, "y");
  CHECK(call(stage.port, "GET", "/api/v1/workspaces/w").body.at("session_id").is_null());
}

SCENARIO("reading pending results consumes them once they have arrived") {
  v1_stage stage;
  make_pending(stage, 2);
  const auto peek = call(stage.port, "GET", "/api/v1/workspaces/w/pending-results?ack=false");
  CHECK(int_or(peek.body, "count", -1) == 2);
  CHECK(keys(peek.body) == names{"workspace_id", "results", "count"});
  const auto first = call(stage.port, "GET", "/api/v1/workspaces/w/pending-results");
  CHECK(first.body == peek.body);
  CHECK(eventually([&] { return stage.workspaces.pending("w").empty(); }));
  CHECK(int_or(call(stage.port, "GET", "/api/v1/workspaces/w/pending-results").body, "count", -1)
        == 0);
  CHECK(string_or(first.body.at("results").front(), "result") == "result 0");
}

SCENARIO("a pending result is the full text as the stream would have given it") {
  v1_stage stage;
  stage.workspaces.ask("w", true, submission(true));
  const auto turn = stage.workspaces.begun("w");
  stage.workspaces.start("w", turn);
  stage.workspaces.ask("w", true, client_left{turn});
  stage.workspaces.say("w", turn, "I look at it.");
  auto tool = json::object();
  tool["item"]["id"] = "c1";
  tool["item"]["kind"] = "tool_call";
  tool["item"]["tool_use_id"] = "u1";
  stage.workspaces.tell("w", turn, "item.started", tool);
  stage.workspaces.say("w", turn, "It is fine.");
  stage.workspaces.succeed("w", turn, "It is fine.");
  const auto answer = call(stage.port, "GET", "/api/v1/workspaces/w/pending-results");
  CHECK(string_or(answer.body.at("results").front(), "result") == "I look at it.\n\nIt is fine.");
}

SCENARIO("contract, Pending results: a reader that is gone before it took the answer is offered "
         "the same results again") {
  v1_stage stage;
  // More than the readers' machine takes for them, so that one who takes nothing cannot have it.
  add_pending(stage, std::string(1 << 20, 'x'));
  const auto before = stage.workspaces.pending("w");
  for (const auto by_reset : {true, false}) {
    v1_call reader{stage.port, "GET", "/api/v1/workspaces/w/pending-results", {}, 4096};
    REQUIRE(reader.read_until("\r\n\r\n"));
    reader.leave(by_reset);
  }
  auto answer = v1_answer{};
  const auto taken = [&] {
    answer = call(stage.port, "GET", "/api/v1/workspaces/w/pending-results");
    return int_or(answer.body, "count", -1) == 1;
  };
  REQUIRE(eventually(taken)); // the ones who left hold it until the server has noticed
  CHECK(string_or(answer.body.at("results").front(), "id") == before.front().id);
}

SCENARIO("two readers at the same time never both get a result") {
  v1_stage stage;
  make_pending(stage, 3);
  std::atomic<std::int64_t> got{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i)
    readers.emplace_back([&] {
      got +=
        int_or(call(stage.port, "GET", "/api/v1/workspaces/w/pending-results").body, "count", 0);
    });
  for (auto& reader : readers)
    reader.join();
  CHECK(got == 3);
  CHECK(eventually([&] { return stage.workspaces.pending("w").empty(); }));
}

SCENARIO("results are acknowledged by id; unknown ids are no failure") {
  v1_stage stage;
  make_pending(stage, 2);
  const auto ids = stage.workspaces.pending("w");
  auto body = json::object();
  body["ids"] = json::array({ids.front().id, "unknown"});
  const auto path = "/api/v1/workspaces/w/pending-results/ack";
  CHECK(call(stage.port, "POST", path, dump_json(body)).status == 200);
  CHECK(stage.workspaces.pending("w").size() == 1);
  CHECK(call(stage.port, "POST", path, dump_json(body)).status == 200);
  CHECK(call(stage.port, "POST", path, "{}").status == 400);
  CHECK(stage.workspaces.pending("w").size() == 1);
}

SCENARIO("contract, Pending results: an unknown workspace has an empty list") {
  v1_stage stage;
  const auto answer = call(stage.port, "GET", "/api/v1/workspaces/nobody/pending-results");
  CHECK(answer.status == 200);
  CHECK(int_or(answer.body, "count", -1) == 0);
  CHECK(answer.body.at("results").is_array());
}

SCENARIO("contract, Endpoints: tools come from the cache until a refresh probes, and status never "
         "probes") {
  v1_stage stage;
  const auto cached = call(stage.port, "GET", "/api/v1/capabilities/tools");
  CHECK(keys(cached.body) == names{"status", "tools", "source", "mcp_servers"});
  CHECK(cached.body.at("tools").is_null());
  CHECK(string_or(cached.body, "source") == "cache");
  auto status = call(stage.port, "GET", "/api/v1/status");
  CHECK(stage.probes == 0);
  CHECK(keys(status.body)
        == names{"status", "services", "capabilities", "workspaces", "version", "claude_version"});
  CHECK(string_or(status.body.at("services"), "claude_runtime") == "unavailable");
  CHECK(string_or(status.body.at("services"), "api") == "running");
  CHECK(status.body.at("claude_version").is_null());
  CHECK(keys(status.body.at("capabilities")) == names{"tools", "policy"});
  CHECK(keys(status.body.at("workspaces")) == names{"count", "ids"});
  const auto probed = call(stage.port, "POST", "/api/v1/capabilities/tools/refresh");
  CHECK(string_or(probed.body, "source") == "probe");
  CHECK(probed.body.at("tools").size() == 2);
  CHECK(stage.probes == 1);
  status = call(stage.port, "GET", "/api/v1/status");
  CHECK(string_or(status.body.at("services"), "claude_runtime") == "available");
  CHECK(string_or(status.body, "claude_version") == "2.1.0");
  CHECK(string_or(status.body, "version") == "1.2.3");
  CHECK(stage.probes == 1);
}
