#include "http/v1_shapes.hpp"
#include "tests/support/text.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace tidemark;
using namespace tidemark::test;

namespace {

using names = std::set<std::string>;

} // namespace

SCENARIO("a message needs only content; the rest has defaults, and unknown members are ignored") {
  const auto request = parse_message_request(R"({"content":"hi","new_member":[1],"role":"user"})");
  REQUIRE(request);
  CHECK(request->content == "hi");
  CHECK(request->workspace == "default");
  CHECK(request->source.empty());
  CHECK(request->environment.empty());
  const auto nulls = parse_message_request(
    R"({"content":"hi","workspace_id":null,"source_chat_key":null,"env_vars":null,"role":null})");
  REQUIRE(nulls);
  CHECK(nulls->workspace == "default");
}

SCENARIO("a message takes all its members") {
  const auto request = parse_message_request(
    R"({"content":"a\u4f60b","workspace_id":"w.1","source_chat_key":"chat","env_vars":{"KEY":"value"}})");
  REQUIRE(request);
  CHECK(request->content
        == "a\xE4\xBD\xA0"
           "b");
  CHECK(request->workspace == "w.1");
  CHECK(request->source == "chat");
  CHECK(request->environment == std::map<std::string, std::string>{{"KEY", "value"}});
}

SCENARIO("lone surrogates in a message are repaired, pairs are kept") {
  const auto request = parse_message_request(R"({"content":"\ud800 \udc00 \ud83c\udf0a"})");
  REQUIRE(request);
  CHECK(request->content == "\xEF\xBF\xBD \xEF\xBF\xBD \xF0\x9F\x8C\x8A");
}

SCENARIO("a message of several MiB is read whole") {
  const std::string content(5 << 20, 'x');
  const auto request = parse_message_request("{\"content\":\"" + content + "\"}");
  REQUIRE(request);
  CHECK(request->content.size() == content.size());
}

SCENARIO("members of another type are refused by name, without quoting what may be a secret") {
  const auto* body = GENERATE(
    "", "nonsense", "[]", "7", "{}", R"({"content":null})", R"({"content":7})",
    R"({"content":["a"]})", R"({"content":"  \n"})", R"({"content":"x","workspace_id":7})",
    R"({"content":"x","workspace_id":""})", R"({"content":"x","workspace_id":"../up"})",
    R"({"content":"x","source_chat_key":{}})", R"({"content":"x","env_vars":["s3cret"]})",
    R"({"content":"x","env_vars":{"A":["s3cret"]}})",
    R"({"content":"x","env_vars":{"A=B":"s3cret"}})", R"({"content":"x","env_vars":{"":"s3cret"}})",
    R"({"content":"x","env_vars":{"A":"s3cret\u0000"}})");
  INFO(body);
  const auto request = parse_message_request(body);
  REQUIRE_FALSE(request);
  CHECK(request.error().code == errc::invalid_argument);
  CHECK_FALSE(request.error().message.empty());
  CHECK(request.error().message.find("s3cret") == std::string::npos);
}

SCENARIO("an acknowledgement is a list of strings") {
  const auto ids = parse_ack_request(R"({"ids":["a","b"]})");
  REQUIRE(ids);
  CHECK(*ids == std::vector<std::string>{"a", "b"});
  CHECK(parse_ack_request(R"({"ids":[]})"));
  for (const auto* body : {"{}", R"({"ids":null})", R"({"ids":"a"})", R"({"ids":[1]})", "[]", ""})
    CHECK_FALSE(parse_ack_request(body));
}

SCENARIO("TaskInfo has exactly the contract's members and nothing but started_at is null") {
  queued_task task;
  task.turn = "t1";
  task.source = "chat";
  task.preview = "do";
  task.enqueued = timestamp{1'000'000'000};
  const auto now = timestamp{3'500'000'000};
  const auto waiting = task_object(task, now);
  CHECK(keys(waiting)
        == names{"task_id", "source_chat_key", "prompt_preview", "enqueued_at", "started_at",
                 "elapsed_seconds", "wait_seconds"});
  CHECK(waiting.at("started_at").is_null());
  CHECK(waiting.at("elapsed_seconds").get<double>() == 0.0);
  CHECK(waiting.at("wait_seconds").get<double>() == 2.5);
  CHECK(waiting.at("enqueued_at").get<std::string>() == "1970-01-01T00:00:01.000Z");
  task.started = timestamp{2'000'000'000};
  const auto running = task_object(task, now);
  CHECK(running.at("started_at").get<std::string>() == "1970-01-01T00:00:02.000Z");
  CHECK(running.at("elapsed_seconds").get<double>() == 1.5);
  CHECK(running.at("wait_seconds").get<double>() == 1.0);
}

SCENARIO("seconds are never negative, also if the clock went back") {
  queued_task task;
  task.enqueued = timestamp{5'000'000'000};
  CHECK(task_object(task, timestamp{1}).at("wait_seconds").get<double>() == 0.0);
}

SCENARIO("QueueStatus counts only those waiting") {
  queue_reply queue;
  queue.current = queued_task{};
  queue.waiting.resize(2);
  const auto body = queue_object("w", queue, timestamp{1});
  CHECK(keys(body) == names{"workspace_id", "current_task", "queued_tasks", "queue_length"});
  CHECK(body.at("queue_length").get<int>() == 2);
  CHECK(body.at("queued_tasks").size() == 2);
  CHECK(queue_object("w", {}, timestamp{1}).at("current_task").is_null());
}

SCENARIO("WorkspaceInfo has exactly the contract's members in the list as for one") {
  const names wanted = {"id",         "name",     "path",   "created_at", "updated_at",
                        "session_id", "metadata", "status", "tools"};
  workspace_info info;
  info.id = "w";
  info.path = "/srv/w";
  info.metadata = json::array();
  const auto one = workspace_object(info);
  CHECK(keys(one) == wanted);
  CHECK(one.at("session_id").is_null());
  CHECK(one.at("tools").is_null());
  CHECK(one.at("metadata").is_object());
  CHECK(one.at("status").get<std::string>() == "idle");
  workspace_summary summary;
  summary.id = "w";
  summary.busy = true;
  summary.session = "s";
  summary.tools = std::vector<std::string>{"Bash"};
  const auto line = workspace_object(summary, "/srv");
  CHECK(keys(line) == wanted);
  CHECK(line.at("path").get<std::string>() == "/srv/w");
  CHECK(line.at("status").get<std::string>() == "busy");
  CHECK(line.at("tools").size() == 1);
}

SCENARIO("PendingResult and PolicySummary have exactly the contract's members") {
  const auto pending = pending_object("w", std::vector<pending_result>(2));
  CHECK(keys(pending) == names{"workspace_id", "results", "count"});
  CHECK(pending.at("count").get<int>() == 2);
  CHECK(keys(pending.at("results").front())
        == names{"id", "workspace_id", "source_chat_key", "result", "created_at", "expires_at",
                 "is_error", "error_code"});
  CHECK(pending_object("w", {}).at("results").is_array());
  CHECK(keys(policy_object(summarize(policy::strict)))
        == names{"allowed_tools", "blocked_tools", "allow_network", "allow_file_modification",
                 "allow_command_execution"});
}
