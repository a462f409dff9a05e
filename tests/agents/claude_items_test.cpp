#include "tests/agents/claude_lines.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;

SCENARIO(
  "a whole message becomes one item, started and completed, with the line as raw on the first") {
  conversation c;
  const auto made = c.line(says("Hello."));
  REQUIRE(made.events.size() == 2);
  REQUIRE(made.events[0].type == "item.started");
  REQUIRE(*made.events[0].raw == says("Hello."));
  REQUIRE(made.events[1].type == "item.completed");
  REQUIRE_FALSE(made.events[1].raw);
  const auto item = made.events[1].data["item"];
  REQUIRE(item["kind"] == "message");
  REQUIRE(item["role"] == "assistant");
  REQUIRE(item["text"] == "Hello.");
  REQUIRE(item["native_id"] == "msg_1");
  REQUIRE(item["id"] != "msg_1");
  REQUIRE(item["id"] == made.events[0].data["item"]["id"]);
}

SCENARIO("streamed text is shown once: deltas, then the completed item with their joined text") {
  conversation c;
  c.lines({message_start("msg_1"), block_start(0, text_block("")), text_delta(0, "Grüße, "),
           text_delta(0, "世界 🙂"), stream({{"type", "content_block_stop"}, {"index", 0}}),
           says("Grüße, 世界 🙂")});
  REQUIRE(c.of("item.started").size() == 1);
  REQUIRE(c.of("item.delta").size() == 2);
  REQUIRE(c.items("message").size() == 1);
  REQUIRE(c.items("message")[0]["text"] == "Grüße, 世界 🙂");
  REQUIRE(c.broken_promise() == "");
}

SCENARIO("the whole message adds what the deltas lacked, and never takes anything back") {
  conversation c;
  c.lines({message_start("msg_1"), block_start(0, text_block("")), text_delta(0, "one"),
           says("one two")});
  REQUIRE(c.items("message")[0]["text"] == "one two");
  c.lines({message_start("msg_2"), block_start(0, text_block("")), text_delta(0, "shown"),
           says("other", "msg_2")});
  REQUIRE(c.items("message")[1]["text"] == "shown");
  REQUIRE(c.broken_promise() == "");
}

SCENARIO("several blocks of one message, streamed or not, keep their order") {
  conversation c;
  c.lines({message_start("m"), block_start(0, {{"type", "thinking"}, {"thinking", ""}}),
           stream({{"type", "content_block_delta"},
                   {"index", 0},
                   {"delta", {{"type", "thinking_delta"}, {"thinking", "hm"}}}}),
           stream({{"type", "content_block_delta"},
                   {"index", 0},
                   {"delta", {{"type", "signature_delta"}, {"signature", "x"}}}}),
           assistant({{"type", "thinking"}, {"thinking", "hm"}, {"signature", "x"}}, "m"),
           block_start(1, text_block("")), text_delta(1, "a"), says("a", "m"),
           block_start(2, text_block("")), text_delta(2, "b"), says("b", "m")});
  REQUIRE(c.items("reasoning").size() == 1);
  REQUIRE(c.items("reasoning")[0]["text"] == "hm");
  REQUIRE(c.items("message").size() == 2);
  REQUIRE(c.of("item.started").size() == 3);
  REQUIRE(c.broken_promise() == "");
}

SCENARIO("a tool call starts with its whole input and completes with its result") {
  conversation c;
  c.lines({message_start("m"), block_start(0, tool_use("toolu_1", "Bash")),
           stream({{"type", "content_block_delta"},
                   {"index", 0},
                   {"delta", {{"type", "input_json_delta"}, {"partial_json", "{\"command\""}}}})});
  REQUIRE(c.events.empty());
  c.line(assistant(tool_use("toolu_1", "Bash", {{"command", "ls"}, {"timeout", 5}}), "m"));
  const auto started = c.of("item.started").at(0)["item"];
  REQUIRE(started["kind"] == "tool_call");
  REQUIRE(started["name"] == "Bash");
  REQUIRE(started["input"]["command"] == "ls");
  REQUIRE(started["tool_use_id"] == "toolu_1");
  REQUIRE(c.items("tool_call").empty());

  c.line(tool_result(
    "toolu_1",
    json::array(
      {text_block("a"), {{"type", "image"}, {"source", json::object()}}, text_block("b")}),
    true));
  REQUIRE(c.items("tool_call").at(0)["id"] == started["id"]);
  REQUIRE(c.items("tool_call").at(0)["status"] == "failed");
  const auto answer = c.items("tool_result").at(0);
  REQUIRE(answer["content"] == "a\n[image]\nb");
  REQUIRE(answer["is_error"] == true);
  REQUIRE(answer["tool_use_id"] == "toolu_1");
  REQUIRE(c.broken_promise() == "");
}

SCENARIO("what a subagent does carries the tool call that it works for") {
  conversation c;
  c.lines({assistant(tool_use("toolu_1", "Agent")),
           assistant(tool_use("toolu_2", "Bash"), "sub", "toolu_1"),
           tool_result("toolu_2", "2", false, "toolu_1"),
           assistant(text_block("inner"), "sub", "toolu_1"), tool_result("toolu_1", "2"),
           says("outer", "msg_2"), result("outer")});
  const auto calls = c.items("tool_call");
  REQUIRE(calls.at(0)["parent"] == calls.at(1)["id"]);
  REQUIRE(c.items("message").at(0)["parent"] == calls.at(1)["id"]);
  REQUIRE_FALSE(c.items("message").at(1).contains("parent"));
  REQUIRE(c.end().text == "outer");
  REQUIRE(c.broken_promise() == "");
}

SCENARIO("what is open when the turn ends is completed as interrupted, marked as inferred") {
  conversation c;
  c.lines({assistant(tool_use("toolu_1", "Bash")), message_start("m"),
           block_start(0, text_block("")), text_delta(0, "half")});
  WHEN("a result comes") {
    c.line(result("", {{"is_error", true}}));
  }
  WHEN("the process dies") {
    c.exit({-1, 9});
  }
  WHEN("the server gives the turn up") {
    c.add(c.agent->abandon_turn());
  }
  REQUIRE(c.items("tool_call").at(0)["status"] == "interrupted");
  REQUIRE(c.items("message").at(0)["status"] == "interrupted");
  REQUIRE(c.of("item.completed").at(0)["synthetic"] == true);
  REQUIRE(c.broken_promise() == "");
}

SCENARIO("odd shapes cost nothing but themselves") {
  conversation c;
  c.lines(
    {R"({"type":"assistant","message":{"role":"assistant","content":"plain"}})",
     R"({"type":"assistant","message":{"content":["not an object",{"type":"future_block"},{"type":"text","text":"kept"}]}})",
     R"({"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"unknown"}]}})",
     R"({"type":"assistant","message":{"content":[{"type":"text","text":"lone \ud83d and \ude00"}]}})",
     R"({"type":"assistant"})", R"({"type":"user","message":7})",
     R"({"type":"stream_event","event":{"type":"content_block_delta","index":"x"}})",
     R"({"type":"stream_event","event":7})", R"({"type":"stream_event"})", result("")});
  const auto texts = c.items("message");
  REQUIRE(texts.at(0)["text"] == "plain");
  REQUIRE(texts.at(1)["text"] == "kept");
  REQUIRE(texts.at(2)["text"] == "lone \xEF\xBF\xBD and \xEF\xBF\xBD");
  REQUIRE(c.items("tool_result").at(0)["content"] == "");
  std::size_t partial_of_nothing = 0;
  for (const auto& data : c.of("agent.opaque"))
    partial_of_nothing += data["type"] == "stream_event" ? 1 : 0;
  REQUIRE(partial_of_nothing == 2);
  REQUIRE(c.end().how == outcome::succeeded);
  REQUIRE(c.broken_promise() == "");
}

SCENARIO("a huge tool result stays within an event and says what is missing") {
  conversation c;
  c.line(tool_result("t", std::string(5'000'000, 'x')));
  const auto item = c.items("tool_result").at(0);
  REQUIRE(item["truncated"] == true);
  REQUIRE(item["size"] == 5'000'000);
  REQUIRE(item["content"].get<std::string>().size() < 5'000'000);
}

SCENARIO("a text that only the result tells becomes a message, so that readers of items see it") {
  conversation c;
  c.line(result("output of a command"));
  REQUIRE(c.items("message").at(0)["text"] == "output of a command");
  REQUIRE(c.of("item.completed").at(0)["synthetic"] == true);
  REQUIRE(c.broken_promise() == "");
}
