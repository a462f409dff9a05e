#include "tests/http/v1_events.hpp"
#include "tests/support/v1_lines.hpp"

#include <catch2/catch.hpp>

using namespace v1_test;
using types = std::vector<std::string>;

SCENARIO("joined chunks are the result: deltas once, completed text and final text not repeated") {
  turn_script turn;
  turn.start().block("m1", {"Hel", "lo ", "world"}).succeed("Hello world");
  CHECK(turn.joined() == "Hello world");
  CHECK(turn.types() == types{"chunk", "chunk", "chunk", "done"});
  CHECK(turn.translation.over());
}

SCENARIO("a message that was never streamed by deltas arrives once, when it is complete") {
  turn_script turn;
  auto whole = item("m1", "message", object({{"text", "whole"}}));
  turn.start().started(item("m1", "message")).completed(whole).succeed("whole");
  CHECK(turn.joined() == "whole");
}

SCENARIO("text that the deltas left out is added when the message is complete") {
  turn_script turn;
  turn.start().started(item("m1", "message")).delta("m1", "half");
  turn.completed(item("m1", "message", object({{"text", "half and half"}})))
    .succeed("half and half");
  CHECK(turn.joined() == "half and half");
}

SCENARIO("a final text that nothing announced is sent once") {
  turn_script turn;
  turn.start().succeed("from a slash command");
  CHECK(turn.joined() == "from a slash command");
  CHECK(turn.types() == types{"chunk", "done"});
}

SCENARIO("text blocks that a tool call separates are joined by an empty line, others directly") {
  turn_script turn;
  turn.start().block("m1", {"one"}).block("m2", {", two"});
  turn.call("u1").result("u1", "files").call("u2").result("u2", "more");
  turn.block("m3", {"three"}).succeed("three");
  CHECK(turn.joined() == "one, two\n\nthree");
  CHECK(turn.types()
        == types{"chunk", "chunk", "tool_call", "tool_result", "tool_call", "tool_result", "chunk",
                 "done"});
}

SCENARIO("a tool call before the first text adds nothing to the result") {
  turn_script turn;
  turn.start().call("u1").result("u1", "x").block("m1", {"text"}).succeed("text");
  CHECK(turn.joined() == "text");
}

SCENARIO(
  "text, reasoning and prompts of subagents are not part of the result, their tools are shown") {
  turn_script turn;
  const auto inside = object({{"parent", "call-u1"}});
  auto prompt = item("p", "message", object({{"role", "user"}, {"text", "do it"}}));
  turn.start().block("m1", {"before"}).call("u1").completed(prompt);
  turn.block("s1", {"subagent speaks"}, inside).call("u2", inside).result("u2", "inner", inside);
  turn.started(item("r1", "reasoning")).delta("r1", "thinking").result("u1", "report");
  turn.block("m2", {"after"}).succeed("after");
  CHECK(turn.joined() == "before\n\nafter");
  CHECK(turn.count("tool_call") == 2);
  CHECK(turn.count("tool_result") == 2);
}

SCENARIO("a subagent's tool call in the middle of a text block does not break the block") {
  turn_script turn;
  const auto inside = object({{"parent", "call-u1"}});
  turn.start().started(item("m1", "message")).delta("m1", "one ");
  turn.call("u2", inside).delta("m1", "sentence");
  turn.completed(item("m1", "message", object({{"text", "one sentence"}}))).succeed("one sentence");
  CHECK(turn.joined() == "one sentence");
}

SCENARIO("a tool call stands before its result, with string ids, an object and flat content") {
  turn_script turn;
  auto blocks = json::array();
  blocks.push_back(object({{"type", "text"}, {"text", "a"}}));
  blocks.push_back(object({{"type", "image"}, {"source", "…"}}));
  blocks.push_back(object({{"type", "text"}, {"text", "b"}}));
  turn.start().call("u1").result("u1", blocks);
  REQUIRE(turn.types() == types{"tool_call", "tool_result"});
  const auto& call = turn.frames[0].body;
  CHECK(call
        == object({{"type", "tool_call"},
                   {"tool_use_id", "u1"},
                   {"name", "Bash"},
                   {"input", object({{"command", "ls"}})}}));
  const auto& result = turn.frames[1].body;
  CHECK(result
        == object({{"type", "tool_result"},
                   {"tool_use_id", "u1"},
                   {"content", "a\n[image]\nb"},
                   {"is_error", false}}));
}

SCENARIO("whatever did not succeed ends with an error frame that has a message and an ErrorInfo") {
  const auto outcome = GENERATE(as<std::string>{}, "failed", "cancelled", "interrupted");
  const auto message = GENERATE(as<std::string>{}, "", "because");
  turn_script turn;
  turn.start().block("m1", {"partial"}).end(outcome, "", message);
  const auto& error = turn.last();
  CHECK(string_or(error, "type") == "error");
  CHECK_FALSE(string_or(error, "message").empty());
  const auto& info = object_at(error, "error");
  CHECK(string_or(info, "err_id") == "err-1");
  CHECK_FALSE(string_or(info, "code").empty());
  CHECK(string_or(info, "message") == string_or(error, "message"));
  CHECK(info.at("retryable").is_boolean());
  CHECK(info.at("details").is_null());
  CHECK(info.size() == 5);
  CHECK(turn.count("done") == 0);
  CHECK(turn.translation.over());
}

SCENARIO("a cancelled task ends as TASK_CANCELLED, a failed one with the adapter's code") {
  turn_script cancelled;
  cancelled.start().end("cancelled", "SOMETHING", "stop");
  CHECK(string_or(object_at(cancelled.last(), "error"), "code") == "TASK_CANCELLED");
  turn_script failed;
  failed.start().end("failed", "RATE_LIMITED", "later");
  CHECK(string_or(object_at(failed.last(), "error"), "code") == "RATE_LIMITED");
}

SCENARIO("a task that succeeded without any text is an error, also if it called tools") {
  turn_script turn;
  turn.start().call("u1").result("u1", "x").succeed("");
  CHECK(string_or(turn.last(), "type") == "error");
  CHECK(string_or(object_at(turn.last(), "error"), "code") == "CLAUDE_CLI_NO_PARSEABLE_OUTPUT");
}

SCENARIO("an agent that is not logged in ends cleanly with its words as text, said once") {
  const std::string words = "Not logged in · Please run /login";
  turn_script silent;
  silent.start().end("failed", "AUTHENTICATION_FAILED", words + "; log in first", words);
  CHECK(silent.types() == types{"chunk", "done"});
  CHECK(silent.joined() == words);
  turn_script spoken;
  spoken.start().block("m1", {words}).end("failed", "AUTHENTICATION_FAILED", words, words);
  CHECK(spoken.types() == types{"chunk", "done"});
  CHECK(spoken.joined() == words);
  turn_script only_message;
  only_message.start().end("failed", "AUTHENTICATION_FAILED", words);
  CHECK(only_message.joined() == words);
}

SCENARIO("contract, Streaming: chunks hold no U+0000 and every frame of an event names the event's "
         "place") {
  turn_script turn;
  turn.start().block("m1", {std::string{"a\0b", 3}, std::string{"\0", 1}}).succeed("");
  CHECK(turn.joined() == "ab");
  CHECK(turn.frames.front().id == "3-3");
  std::string bytes;
  append_v1_frame(bytes, turn.frames.front());
  CHECK(bytes == "id: 3-3\ndata: {\"chunk\":\"ab\",\"type\":\"chunk\"}\n\n");
}

SCENARIO("nothing follows the end of a turn") {
  turn_script turn;
  turn.start().block("m1", {"x"}).succeed("x");
  const auto before = turn.frames.size();
  turn.block("m2", {"late"}).succeed("late").pass(10min);
  turn.take(turn.translation.on_failure({"INTERNAL_ERROR", "late", false, nullptr}));
  CHECK(turn.frames.size() == before);
}

SCENARIO(
  "what happens to other turns gives no frame, but makes the place in the queue worth asking") {
  turn_script turn;
  CHECK_FALSE(turn.translation.queue_moved());
  turn.event("item.delta", object({{"item", "m0"}, {"text", "theirs"}}), "t0");
  CHECK_FALSE(turn.translation.queue_moved());
  turn.event("turn.completed", object({{"outcome", "succeeded"}, {"text", "theirs"}}), "t0");
  CHECK(turn.frames.empty());
  CHECK(turn.translation.queue_moved());
  CHECK_FALSE(turn.translation.queue_moved());
  turn.start().event("turn.queued", json::object(), "t2");
  CHECK_FALSE(turn.translation.queue_moved());
}

namespace {

queue_reply queue_with(std::size_t ahead, bool running) {
  queue_reply queue;
  queued_task task;
  task.enqueued = timestamp{1'000'000'000};
  task.source = "chat-0";
  if (running) {
    queue.current = task;
    queue.current->turn = "t0";
    queue.current->started = timestamp{2'000'000'000};
  }
  for (std::size_t i = 0; i < ahead; ++i)
    queue.waiting.push_back(task);
  queue.waiting.push_back(task);
  queue.waiting.back().turn = "t1";
  return queue;
}

} // namespace

SCENARIO("queued frames hold whole numbers, come at once, and again only when the place changes") {
  turn_script turn;
  const auto wall = timestamp{4'700'000'000};
  turn.take(turn.translation.on_queue(queue_with(1, true), wall));
  turn.take(turn.translation.on_queue(queue_with(1, true), wall));
  REQUIRE(turn.types() == types{"queued"});
  const auto& told = turn.last();
  CHECK(told.size() == 5);
  for (const auto* key : {"position", "queue_length", "queued_count"}) {
    INFO(key);
    CHECK(told.at(key).is_number_integer());
    CHECK(int_or(told, key, -1) == 2);
  }
  const auto& current = object_at(told, "current_task");
  CHECK(string_or(current, "source_chat_key") == "chat-0");
  CHECK(current.at("elapsed_seconds").is_number_integer());
  CHECK(int_or(current, "elapsed_seconds", -1) == 2);
  turn.take(turn.translation.on_queue(queue_with(0, true), wall));
  CHECK(turn.count("queued") == 2);
  CHECK(int_or(turn.last(), "position", -1) == 1);
}

SCENARIO("a queued frame names no task as current by empty values, never by null") {
  turn_script turn;
  turn.take(turn.translation.on_queue(queue_with(3, false), timestamp{1}));
  REQUIRE(turn.count("queued") == 1);
  const auto& current = object_at(turn.last(), "current_task");
  CHECK(string_at(current, "source_chat_key") == std::optional<std::string>{""});
  CHECK(int_or(current, "elapsed_seconds", -1) == 0);
}

SCENARIO("a task that is first in line, or runs already, is not told that it waits") {
  turn_script turn;
  turn.take(turn.translation.on_queue(queue_with(0, false), timestamp{1}));
  turn.start();
  turn.take(turn.translation.on_queue(queue_with(2, true), timestamp{1}));
  CHECK(turn.frames.empty());
}

SCENARIO("contract, Streaming: an empty chunk a minute keeps a task alive while it is queued or "
         "waits for a tool") {
  turn_script turn;
  turn.pass(59s);
  CHECK(turn.frames.empty());
  turn.pass(1s).pass(59s).pass(1s);
  CHECK(turn.types() == types{"chunk", "chunk"});
  turn.start().pass(10min);
  CHECK(turn.frames.size() == 2); // the model itself is silent: its client may give up
  CHECK(turn.translation.next_due() == v1_clock::time_point::max());
  turn.block("m1", {"text"}).call("u1").pass(30s).pass(30s).pass(60s);
  CHECK(turn.types() == types{"chunk", "chunk", "chunk", "tool_call", "chunk", "chunk"});
  CHECK(turn.frames.back().id.empty());
  turn.result("u1", "x").pass(10min).block("m2", {"more"}).succeed("more");
  CHECK(turn.joined() == "text\n\nmore");
  CHECK(turn.count("chunk") == 6);
}

SCENARIO("the stream's session is that of the conversation that the agent reports") {
  turn_script turn;
  turn.start().event("session.started", object({{"session", "session-0"}}));
  CHECK(turn.translation.session() == "session-0");
  turn.event("session.started", object({{"session", nullptr}}));
  CHECK(turn.translation.session() == "session-0");
  turn.block("m1", {"x"}).succeed("x");
  CHECK(string_or(turn.last(), "session_id") == "session-1");
  CHECK(string_or(turn.last(), "turn_id") == "t1");
}

SCENARIO("events with fields of unexpected types break nothing") {
  turn_script turn;
  turn.start();
  for (const auto* type : {"item.started", "item.delta", "item.completed", "session.started"})
    for (const auto* text :
         {"{}", "[]", "null", "7", "{\"item\":null}", "{\"item\":[1]}", "{\"item\":{\"kind\":3}}",
          "{\"item\":{\"kind\":\"tool_call\"}}", "{\"item\":{\"kind\":\"message\",\"id\":{}}}"})
      turn.event(type, json::parse(text));
  turn.event("turn.completed", json::parse("{\"outcome\":5,\"error\":[]}"));
  CHECK(string_or(turn.last(), "type") == "error");
}
