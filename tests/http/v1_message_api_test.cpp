#include "tests/http/v1_stage.hpp"
#include "tests/support/v1_client.hpp"

#include <catch2/catch.hpp>

using namespace v1_test;

namespace {

using namespace std::chrono_literals;

constexpr auto stream_path = "/api/v1/message/stream";

std::string message(const std::string& content, const std::string& workspace = "w") {
  auto body = json::object();
  body["role"] = "user";
  body["content"] = content;
  body["workspace_id"] = workspace;
  body["source_chat_key"] = "chat";
  return dump_json(body);
}

std::string last_type(const v1_call& call) {
  const auto frames = call.frames();
  return frames.empty() ? std::string{} : string_or(frames.back(), "type");
}

const json& first_of(const std::vector<json>& frames, const std::string& type) {
  for (const auto& frame : frames)
    if (string_or(frame, "type") == type)
      return frame;
  throw std::runtime_error("no frame " + type);
}

/// Waits until the agent was told to begin a turn other than `before`, and starts it.
std::string start_next(v1_stage& stage, const std::string& workspace = "w",
                       const std::string& before = {}) {
  REQUIRE(eventually([&] {
    const auto turn = stage.workspaces.begun(workspace);
    return !turn.empty() && turn != before;
  }));
  const auto turn = stage.workspaces.begun(workspace);
  stage.workspaces.start(workspace, turn);
  return turn;
}

bool delivered(v1_stage& stage, const std::string& workspace = "w") {
  return eventually(
    [&] { return stage.workspaces.history(workspace).back() == "result.delivered"; });
}

bool is_pending(v1_stage& stage, std::size_t wanted = 1) {
  return eventually([&] { return stage.workspaces.pending("w").size() == wanted; });
}

} // namespace

SCENARIO("contract, Streaming: the head is sent before the agent says anything, and the joined "
         "chunks are the result") {
  v1_stage stage;
  v1_call client{stage.port, "POST", stream_path, message("hi")};
  REQUIRE(client.read_until("\r\n\r\n"));
  CHECK(client.status() == 200);
  CHECK(client.received().find("Content-Type: text/event-stream") != std::string::npos);
  const auto turn = start_next(stage);
  stage.workspaces.say("w", turn, "Hello ");
  stage.workspaces.say("w", turn,
                       "line\xE2\x80\xA8separator \xC2\x85 \x1C data: {}\n\n\xE4\xBD\xA0");
  stage.workspaces.succeed("w", turn, "ignored, was streamed");
  client.read_all();
  CHECK(client.joined()
        == "Hello line\xE2\x80\xA8separator \xC2\x85 \x1C data: {}\n\n\xE4\xBD\xA0");
  CHECK(last_type(client) == "done");
  CHECK(client.ended_properly());
  CHECK(client.body().find("\nid: 1-") != std::string::npos);
}

SCENARIO("a result that its client read to the end is delivered and never pending") {
  v1_stage stage;
  v1_call client{stage.port, "POST", stream_path, message("hi")};
  const auto turn = start_next(stage);
  stage.workspaces.succeed("w", turn, "text");
  client.read_all();
  CHECK(client.ended_properly());
  CHECK(delivered(stage));
  CHECK(stage.workspaces.pending("w").empty());
}

SCENARIO("a result whose client left while it ran is pending and was not delivered") {
  const auto by_reset = GENERATE(false, true);
  v1_stage stage;
  v1_call client{stage.port, "POST", stream_path, message("hi")};
  const auto turn = start_next(stage);
  stage.workspaces.say("w", turn, "half");
  REQUIRE(client.read_until("half"));
  client.leave(by_reset);
  stage.workspaces.say("w", turn, " and the rest");
  stage.workspaces.succeed("w", turn, " and the rest");
  REQUIRE(is_pending(stage));
  const auto answer = call(stage.port, "GET", "/api/v1/workspaces/w/pending-results");
  CHECK(int_or(answer.body, "count", -1) == 1);
  CHECK(string_or(answer.body.at("results").front(), "result") == "half and the rest");
  CHECK(delivered(stage));
  CHECK(stage.workspaces.pending("w").empty());
}

SCENARIO("the running task goes on when its client leaves, and stays the current one") {
  v1_stage stage;
  v1_call client{stage.port, "POST", stream_path, message("hi")};
  const auto turn = start_next(stage);
  client.leave(true);
  const auto queue = call(stage.port, "GET", "/api/v1/workspaces/w/queue");
  CHECK(string_or(object_at(queue.body, "current_task"), "task_id") == turn);
}

SCENARIO("a failure whose client left is pending as an error") {
  v1_stage stage;
  v1_call client{stage.port, "POST", stream_path, message("hi")};
  const auto turn = start_next(stage);
  client.leave(false);
  turn_result result;
  result.why = turn_error{"CLAUDE_CLI_ERROR_RESULT", "it broke", false, json::object()};
  stage.workspaces.end("w", turn, result);
  REQUIRE(is_pending(stage));
  const auto answer = call(stage.port, "GET", "/api/v1/workspaces/w/pending-results");
  const auto& item = answer.body.at("results").front();
  CHECK(bool_or(item, "is_error", false));
  CHECK(string_or(item, "error_code") == "CLAUDE_CLI_ERROR_RESULT");
  CHECK(string_or(item, "result") == "it broke");
}

SCENARIO("a task whose client leaves while it is queued is dropped, and its neighbours are not") {
  const auto by_reset = GENERATE(false, true);
  v1_stage stage;
  v1_call first{stage.port, "POST", stream_path, message("first")};
  const auto turn = start_next(stage);
  v1_call second{stage.port, "POST", stream_path, message("second")};
  REQUIRE(second.read_until("\"queued\""));
  v1_call third{stage.port, "POST", stream_path, message("third")};
  REQUIRE(third.read_until("\"position\":2"));
  second.leave(by_reset);
  CHECK(third.read_until("\"position\":1"));
  stage.workspaces.succeed("w", turn, "one");
  const auto next = start_next(stage, "w", turn);
  stage.workspaces.succeed("w", next, "three");
  third.read_all();
  first.read_all();
  CHECK(first.joined() == "one");
  CHECK(third.joined() == "three");
  CHECK(eventually([&] { return stage.workspaces.undelivered("w") == 0; }));
  CHECK(stage.workspaces.pending("w").empty());
}

SCENARIO("a task behind another one is told its place at once, with whole numbers and no null") {
  v1_stage stage;
  v1_call first{stage.port, "POST", stream_path, message("first")};
  const auto turn = start_next(stage);
  v1_call second{stage.port, "POST", stream_path, message("second")};
  REQUIRE(second.read_until("\"queued\""));
  const auto frames = second.frames();
  const auto& queued = first_of(frames, "queued");
  CHECK(int_or(queued, "position", -1) == 1);
  CHECK(int_or(queued, "queue_length", -1) == 1);
  CHECK(queued.at("queued_count").is_number_integer());
  CHECK(string_or(object_at(queued, "current_task"), "source_chat_key") == "chat");
  CHECK(object_at(queued, "current_task").at("elapsed_seconds").is_number_integer());
  CHECK(first.frames().empty());
}

SCENARIO(
  "a cancelled task's stream ends with TASK_CANCELLED; a second DELETE does not hit the next one") {
  v1_stage stage;
  v1_call client{stage.port, "POST", stream_path, message("hi")};
  start_next(stage);
  const auto first = call(stage.port, "DELETE", "/api/v1/workspaces/w/queue/current");
  CHECK(bool_or(first.body, "cancelled", false));
  CHECK(first.body.size() == 2);
  client.read_all();
  CHECK(client.ended_properly());
  REQUIRE(last_type(client) == "error");
  const auto frames = client.frames();
  CHECK(string_or(object_at(frames.back(), "error"), "code") == "TASK_CANCELLED");
  v1_call next{stage.port, "POST", stream_path, message("next")};
  REQUIRE(eventually([&] { return stage.workspaces.history("w").back() == "turn.queued"; }));
  const auto second = call(stage.port, "DELETE", "/api/v1/workspaces/w/queue/current");
  CHECK(second.status == 200);
  CHECK_FALSE(bool_or(second.body, "cancelled", true));
  CHECK(stage.workspaces.pending("w").empty());
}

SCENARIO("DELETE of one task cancels exactly that task, and is harmless when repeated") {
  v1_stage stage;
  v1_call first{stage.port, "POST", stream_path, message("first")};
  start_next(stage);
  v1_call second{stage.port, "POST", stream_path, message("second")};
  REQUIRE(second.read_until("\"queued\""));
  const auto queue = call(stage.port, "GET", "/api/v1/workspaces/w/queue");
  const auto task = string_or(queue.body.at("queued_tasks").front(), "task_id");
  const auto path = "/api/v1/workspaces/w/queue/" + task;
  CHECK(bool_or(call(stage.port, "DELETE", path).body, "cancelled", false));
  second.read_all();
  CHECK(last_type(second) == "error");
  CHECK(second.ended_properly());
  const auto again = call(stage.port, "DELETE", path);
  CHECK(again.status == 200);
  CHECK_FALSE(bool_or(again.body, "cancelled", true));
  CHECK(last_type(first).empty());
}

SCENARIO("an agent that died without a word ends the stream with an error before the proper end") {
  v1_stage stage;
  v1_call client{stage.port, "POST", stream_path, message("hi")};
  const auto turn = start_next(stage);
  turn_result result;
  result.why = turn_error{"CLAUDE_CLI_NO_PARSEABLE_OUTPUT", "the agent was ended by signal 9",
                          false, json::object()};
  stage.workspaces.end("w", turn, result);
  client.read_all();
  CHECK(client.ended_properly());
  const auto frames = client.frames();
  REQUIRE(last_type(client) == "error");
  CHECK(string_or(frames.back(), "message") == "the agent was ended by signal 9");
  CHECK_FALSE(string_or(object_at(frames.back(), "error"), "err_id").empty());
  CHECK(delivered(stage));
}

SCENARIO("a shutdown gives every live stream an error and a proper end") {
  v1_stage stage;
  v1_call running{stage.port, "POST", stream_path, message("hi")};
  start_next(stage);
  v1_call queued{stage.port, "POST", stream_path, message("second")};
  REQUIRE(queued.read_until("\"queued\""));
  stage.stop();
  for (auto* client : {&running, &queued}) {
    client->read_all();
    CHECK(client->ended_properly());
    CHECK(last_type(*client) == "error");
  }
}

SCENARIO("a stream gets the end that its workspace gives a turn during the shutdown") {
  v1_stage stage;
  v1_call running{stage.port, "POST", stream_path, message("hi")};
  start_next(stage);
  v1_call queued{stage.port, "POST", stream_path, message("second")};
  REQUIRE(queued.read_until("\"queued\""));
  v1_call waiting{stage.port, "POST", "/api/v1/message", message("third")};
  REQUIRE(eventually([&] { return stage.workspaces.last_submission().prompt == "third"; }));
  stage.begin_stop();
  stage.workspaces.shut_down("w");
  for (auto* client : {&running, &queued, &waiting}) {
    client->read_all();
    CHECK(client->ended_properly());
  }
  const auto says = [](const json& frame, const std::string& words) {
    return string_or(frame, "message").find(words) != std::string::npos;
  };
  CHECK(says(running.frames().back(), "stopped while this task ran"));
  CHECK(says(queued.frames().back(), "stopped before this task started"));
  CHECK(says(waiting.parsed(), "stopped before this task started"));
}

SCENARIO("contract, Streaming: an idle stream carries comments, and a queued one empty chunks") {
  http_options options;
  options.heartbeat = 60ms;
  options.proof_of_life = 100ms;
  v1_stage stage{options};
  v1_call running{stage.port, "POST", stream_path, message("hi")};
  start_next(stage);
  v1_call queued{stage.port, "POST", stream_path, message("second")};
  CHECK(running.read_until(":hb\n"));
  CHECK(queued.read_until("{\"chunk\":\"\",\"type\":\"chunk\"}"));
  CHECK(running.joined().empty());
}

SCENARIO("the waiting call answers with the whole text, the session and no error") {
  v1_stage stage;
  v1_call client{stage.port, "POST", "/api/v1/message", message("hi")};
  const auto turn = start_next(stage);
  stage.workspaces.say("w", turn, "whole");
  stage.workspaces.succeed("w", turn, "whole");
  client.read_all();
  CHECK(client.status() == 200);
  const auto body = client.parsed();
  CHECK(body.size() == 4);
  CHECK(string_or(body, "message") == "whole");
  CHECK(string_or(body, "session_id") == "session-of-w");
  CHECK(bool_or(body, "success", false));
  CHECK(body.at("error").is_null());
  CHECK(delivered(stage));
}

SCENARIO("the waiting call answers a failure with 200, success false and an ErrorInfo") {
  v1_stage stage;
  v1_call client{stage.port, "POST", "/api/v1/message", message("hi")};
  const auto turn = start_next(stage);
  turn_result result;
  result.why = turn_error{"RATE_LIMITED", "later", true, json::object()};
  stage.workspaces.end("w", turn, result);
  client.read_all();
  CHECK(client.status() == 200);
  const auto body = client.parsed();
  CHECK(body.size() == 4);
  CHECK_FALSE(bool_or(body, "success", true));
  CHECK(body.at("session_id").is_string());
  CHECK(string_or(object_at(body, "error"), "code") == "RATE_LIMITED");
  CHECK(bool_or(object_at(body, "error"), "retryable", false));
}

SCENARIO("a client that leaves the waiting call gets its result from the pending ones") {
  v1_stage stage;
  v1_call client{stage.port, "POST", "/api/v1/message", message("hi")};
  const auto turn = start_next(stage);
  client.leave(true);
  stage.workspaces.succeed("w", turn, "text");
  CHECK(is_pending(stage));
}

SCENARIO("contract, Endpoints: a message of several MiB and its environment reach the workspace as "
         "they were sent") {
  v1_stage stage;
  auto body = json::object();
  body["content"] = std::string(3 << 20, 'x') + "\xE4\xBD\xA0";
  body["env_vars"]["KEY"] = "value";
  v1_call client{stage.port, "POST", stream_path, dump_json(body)};
  start_next(stage, "default");
  const auto sent = stage.workspaces.last_submission();
  CHECK(sent.prompt == body.at("content").get<std::string>());
  CHECK(sent.environment == std::map<std::string, std::string>{{"KEY", "value"}});
  CHECK(sent.holds_result);
}

SCENARIO(
  "lone surrogates in a message are no failure, malformed requests are refused by ErrorInfo") {
  v1_stage stage;
  v1_call client{stage.port, "POST", stream_path, R"({"content":"\ud800 x","workspace_id":"w"})"};
  const auto turn = start_next(stage);
  stage.workspaces.succeed("w", turn, "fine");
  client.read_all();
  CHECK(client.status() == 200);
  CHECK(client.joined() == "fine");
  for (const auto* path : {stream_path, "/api/v1/message"})
    for (const auto* body :
         {"{", "[]", R"({"content":5})", R"({"content":"x","workspace_id":"a/b"})"}) {
      INFO(path << " " << body);
      const auto answer = call(stage.port, "POST", path, body);
      CHECK(answer.status == 400);
      CHECK(answer.body.size() == 1);
      CHECK_FALSE(string_or(object_at(answer.body, "error"), "message").empty());
      CHECK(object_at(answer.body, "error").size() == 5);
    }
}
