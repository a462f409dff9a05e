// POST /message and /message/stream: the drop-in contract, as its clients read it.
#include "tests/integration/scene.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

// What a client of the contract does with a line: split like Python's str.splitlines().
bool splits_safely(const std::string& raw) {
  for (const char* separator :
       {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9", "\v", "\f", "\x1c", "\x1d", "\x1e"}) {
    if (raw.find(separator) != std::string::npos) {
      return false;
    }
  }
  return true;
}

} // namespace

SCENARIO("contract, Endpoints: a message is answered with its text and its session") {
  scene stage;
  const auto reply = stage.client.post("/api/v1/message", message("demo", "ECHO hello there"));
  REQUIRE(reply.status == 200);
  const json body = reply.parsed();
  CHECK(bool_or(body, "success", false));
  CHECK(string_or(body, "message") == "hello there");
  CHECK_FALSE(string_or(body, "session_id").empty());
  CHECK(body.at("error").is_null());
}

SCENARIO(
  "contract, Endpoints: a failed message is still 200, with an error that a person can act on") {
  scene stage;
  const auto reply = stage.client.post("/api/v1/message", message("demo", "ERROR it broke"));
  REQUIRE(reply.status == 200);
  const json body = reply.parsed();
  CHECK_FALSE(bool_or(body, "success", true));
  const json& why = object_at(body, "error");
  CHECK_FALSE(string_or(why, "err_id").empty());
  CHECK(string_or(why, "code") == "CLAUDE_CLI_ERROR_RESULT");
  CHECK(string_or(why, "message").find("it broke") != std::string::npos);
  CHECK(why.contains("retryable"));
  CHECK(why.contains("details"));
}

SCENARIO(
  "contract, Streaming: a message is the plain concatenation of its chunks, and ends properly") {
  scene stage;
  sse_reader reader(stage.client, message_stream_path, message_stream("demo", "WORDS 50 5"));
  REQUIRE(reader.wait_for_end());
  CHECK(reader.status() == 200);
  CHECK(reader.ended_properly());
  std::string all;
  for (int i = 0; i < 50; ++i) {
    all += "word" + std::to_string(i) + " ";
  }
  CHECK(joined_chunks(reader.all()) == all);
  CHECK(of_type(reader.all(), "error").empty());
  CHECK(of_type(reader.all(), "done").size() == 1);
}

SCENARIO("contract, Streaming: a tool call comes before its result, with a blank line between the "
         "texts around it") {
  scene stage;
  sse_reader reader(stage.client, message_stream_path,
                    message_stream("demo", "TOOL echo made by a tool"));
  REQUIRE(reader.wait_for_end());
  const auto frames = reader.all();
  INFO(reader.raw());
  CHECK(joined_chunks(frames) == "I will run it.\n\nDone.");
  REQUIRE(of_type(frames, "tool_call").size() == 1);
  REQUIRE(of_type(frames, "tool_result").size() == 1);
  const json call = of_type(frames, "tool_call").front();
  const json result = of_type(frames, "tool_result").front();
  CHECK(string_or(call, "name") == "Bash");
  CHECK(string_or(object_at(call, "input"), "command") == "echo made by a tool");
  CHECK(string_or(call, "tool_use_id") == string_or(result, "tool_use_id"));
  CHECK(string_or(result, "content") == "made by a tool");
  CHECK_FALSE(bool_or(result, "is_error", true));
}

SCENARIO("contract, Streaming: text never contains what would split a client's line") {
  scene stage;
  const std::string tricky = "a\xc2\x85"
                             "b\xe2\x80\xa8"
                             "c\xe2\x80\xa9"
                             "d 漢字 🙂";
  sse_reader reader(stage.client, message_stream_path, message_stream("demo", "ECHO " + tricky));
  REQUIRE(reader.wait_for_end());
  CHECK(splits_safely(reader.raw()));
  CHECK(joined_chunks(reader.all()) == tricky);
}

SCENARIO("contract, Streaming: a task that does not succeed ends with an error and a proper end of "
         "the body") {
  scene stage;
  for (const char* prompt :
       {"ERROR broken", "EXIT 1", "SIGNAL 9", "WORDS 3\nEXIT 0", "OVERLOAD 10", "LIMIT"}) {
    INFO(prompt);
    sse_reader reader(stage.client, message_stream_path, message_stream("demo", prompt));
    REQUIRE(reader.wait_for_end());
    INFO(reader.raw());
    CHECK(reader.ended_properly());
    const auto errors = of_type(reader.all(), "error");
    REQUIRE(errors.size() == 1);
    CHECK_FALSE(string_or(errors.front(), "message").empty());
    CHECK_FALSE(string_or(object_at(errors.front(), "error"), "code").empty());
  }
}

SCENARIO("contract, Streaming: an agent that is not logged in says so as text, with a clean end") {
  scene stage;
  sse_reader reader(stage.client, message_stream_path, message_stream("demo", "LOGIN"));
  REQUIRE(reader.wait_for_end());
  INFO(reader.raw());
  CHECK(joined_chunks(reader.all()).find("Please run /login") != std::string::npos);
  CHECK(of_type(reader.all(), "error").empty());
}

SCENARIO(
  "contract, Transport: requests as clients send them: escapes, lone surrogates, unknown fields") {
  scene stage;
  const auto send = [&](const std::string& body) {
    return stage.client.send({.method = "POST", .path = "/api/v1/message", .body = body});
  };
  CHECK(send(R"({"content":"ECHO \ud83d\ude42 \u6f22","extra":1})").parsed().at("message")
        == "🙂 漢");
  CHECK(send(R"({"content":"ECHO lone \ud800 surrogate"})").status == 200);
  CHECK(stage.client.get("/api/v1/workspaces/default").status == 200);
  for (const char* bad :
       {"", "{", "[]", R"({"content":5})", R"({"content":"x","workspace_id":"../up"})"}) {
    INFO(bad);
    const auto reply = send(bad);
    CHECK((reply.status == 400 || reply.status == 422));
    CHECK(reply.parsed().is_object());
  }
}

SCENARIO("contract, Endpoints: the variables of one task reach its agent, are not seen anywhere, "
         "and are gone in the next") {
  scene stage;
  json body = message("demo", "TOOL echo \"[$MY_VALUE]\"");
  body["env_vars"] = json::object({{"MY_VALUE", "s3cr3t-of-this-task"}});
  sse_reader::options how = message_stream("demo", "");
  how.body = body.dump();
  sse_reader reader(stage.client, message_stream_path, how);
  REQUIRE(reader.wait_for_end());
  REQUIRE(of_type(reader.all(), "tool_result").size() == 1);
  const std::string shown = string_or(of_type(reader.all(), "tool_result").front(), "content");
  CHECK(shown != "[]");
  const auto everything =
    stage.client.get(of("demo", "events?limit=1000&raw=true")).body + stage.server.output();
  CHECK(everything.find("s3cr3t-of-this-task") == std::string::npos);

  sse_reader next(stage.client, message_stream_path,
                  message_stream("demo", "TOOL echo \"[$MY_VALUE]\""));
  REQUIRE(next.wait_for_end());
  CHECK(string_or(of_type(next.all(), "tool_result").at(0), "content") == "[]");
}

SCENARIO("contract, Queue and cancel: cancelling ends the stream with TASK_CANCELLED and never "
         "hits the next") {
  scene stage;
  sse_reader running(stage.client, message_stream_path,
                     message_stream("demo", "IGNORETERM\nWORDS 1000 50"));
  REQUIRE(running.wait_for("chunk"));
  sse_reader waiting(stage.client, message_stream_path, message_stream("demo", "ECHO my turn"));
  REQUIRE(waiting.wait_for("queued"));
  const auto before = std::chrono::steady_clock::now();
  const json first = stage.client.remove(of("demo", "queue/current")).parsed();
  CHECK(std::chrono::steady_clock::now() - before < seconds(1));
  CHECK(bool_or(first, "cancelled", false));
  REQUIRE(running.wait_for_end());
  CHECK(running.ended_properly());
  REQUIRE(of_type(running.all(), "error").size() == 1);
  CHECK(string_or(object_at(of_type(running.all(), "error").front(), "error"), "code")
        == "TASK_CANCELLED");
  REQUIRE(waiting.wait_for_end());
  CHECK(joined_chunks(waiting.all()) == "my turn");
  CHECK_FALSE(
    bool_or(stage.client.remove(of("demo", "queue/current")).parsed(), "cancelled", true));
}
