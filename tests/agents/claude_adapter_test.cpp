#include "agents/line_framer.hpp"
#include "tests/agents/claude_lines.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;

SCENARIO("a prompt is one line, whatever stands in it") {
  const auto agent = make_claude_adapter();
  const auto bytes = agent->begin_turn("two\nlines \xFF \xE2\x80\xA8");
  REQUIRE(bytes.find('\n') == bytes.size() - 1);
  const auto sent = parse_json(bytes).value();
  REQUIRE(sent["type"] == "user");
  REQUIRE(sent["message"]["content"] == "two\nlines \xEF\xBF\xBD \xE2\x80\xA8");
  REQUIRE(sent["session_id"] == "");
}

SCENARIO("session.started tells the conversation and its facts, and only again when they change") {
  conversation c{session_a};
  c.lines({init(), init()});
  REQUIRE(c.of("session.started").size() == 1);
  const auto data = c.of("session.started")[0];
  REQUIRE(data["session"] == session_a);
  REQUIRE(data["resumed"] == true);
  REQUIRE(data["model"] == "model-1");
  REQUIRE(data["agent_version"] == "2.1.200");
  REQUIRE(c.session == session_a);
  REQUIRE(c.tools == std::vector<std::string>{"Bash", "Read"});
  c.line(init({{"model", "model-2"}}));
  REQUIRE(c.of("session.started").size() == 2);
}

SCENARIO("MCP servers that are not there are told once, and again when their state changes") {
  conversation c;
  const json servers = {{{"name", "good"}, {"status", "connected"}},
                        {{"name", "slow"}, {"status", "pending"}}};
  const json errors = {{{"name", "typo"}, {"error", "invalid config"}},
                       {{"name", "bad"}, {"error", "no command"}}};
  const auto line = init({{"mcp_servers", servers}, {"mcp_server_errors", errors}});
  c.lines({line, line});
  REQUIRE(c.of("agent.notice").size() == 3);
  REQUIRE(c.of("agent.notice")[0]["server"] == "slow");
  REQUIRE(c.of("agent.notice")[1]["status"] == "config_error");
  REQUIRE(c.of("session.started")[0]["mcp_servers"].size() == 4);
  c.line(init(
    {{"mcp_servers",
      {{{"name", "slow"}, {"status", "connected"}}, {{"name", "x"}, {"status", "connected"}}}}}));
  REQUIRE(c.notice("mcp_server")["status"] == "connected");
}

SCENARIO("a retry of the model API announces a silence") {
  conversation c;
  const auto made = c.line(system_line("api_retry", {{"attempt", 2},
                                                     {"max_retries", 10},
                                                     {"retry_delay_ms", 20000},
                                                     {"error_status", 529},
                                                     {"error", "overloaded"}}));
  REQUIRE(made.quiet_for == std::chrono::seconds{20});
  REQUIRE(made.events.at(0).type == "agent.retrying");
  REQUIRE(made.events.at(0).data["attempt"] == 2);
  REQUIRE(made.events.at(0).data["status"] == 529);
  REQUIRE(c.line(system_line("api_retry", {{"retry_delay_ms", -1e300}})).quiet_for.count() == 0);
}

SCENARIO("lines without news make no events") {
  conversation c;
  c.lines({system_line("thinking_tokens"), system_line("status", {{"status", "requesting"}}),
           R"({"type":"tool_progress"})", "", "  \r",
           R"({"type":"control_response","response":{"request_id":"other"}})"});
  REQUIRE(c.events.empty());
}

SCENARIO("rate limits and compaction are notices; the same limit is told once") {
  conversation c;
  const std::string limit =
    R"({"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1900000000}})";
  c.lines({limit, limit,
           system_line("compact_boundary",
                       {{"compact_metadata", {{"trigger", "auto"}, {"pre_tokens", 1000}}}})});
  REQUIRE(c.of("agent.notice").size() == 2);
  REQUIRE(c.notice("rate_limit")["resets_at"] == 1900000000);
  REQUIRE(c.notice("compaction")["trigger"] == "auto");
}

SCENARIO("what we have no form for is kept as opaque, with its line") {
  conversation c;
  c.lines({R"({"type":"brand_new","subtype":"x","n":18446744073709551616})",
           system_line("brand_new"), R"({"type":7})", "{}"});
  REQUIRE(c.of("agent.opaque").size() == 4);
  REQUIRE(c.events.at(0).data["type"] == "brand_new");
  REQUIRE(c.events.at(0).data["subtype"] == "x");
  REQUIRE(c.events.at(0).raw);
}

SCENARIO("output that is not the protocol is noise and disturbs nothing after it") {
  conversation c;
  c.lines({"Now using node v20", "[{\"type\":\"system\"}]", "42", "\xFF\xFE not utf8",
           std::string(100'000, 'z'), "{\"type\":\"result\",\"cut", says("still here"),
           result("still here")});
  REQUIRE(c.of("agent.noise").size() == 6);
  REQUIRE(c.of("agent.noise")[3]["text"] == "\xEF\xBF\xBD\xEF\xBF\xBD not utf8");
  REQUIRE(c.of("agent.noise")[4]["truncated"] == true);
  REQUIRE(c.of("agent.noise")[4]["size"] == 100'000);
  REQUIRE(c.end().text == "still here");
}

SCENARIO("a line over the limit is named with its size and kept out of the log") {
  conversation c;
  c.line(R"({"type":"user","message":{"content":[{"type":"tool_res)", true, 40'000'000);
  c.line("noise without end", true, 50'000'000);
  REQUIRE(c.events.at(0).type == "agent.opaque");
  REQUIRE(c.events.at(0).data["type"] == "user");
  REQUIRE(c.events.at(0).data["size"] == 40'000'000);
  REQUIRE_FALSE(c.events.at(0).raw);
  REQUIRE(c.events.at(1).type == "agent.noise");
  REQUIRE(c.events.at(1).data["truncated"] == true);
}

SCENARIO("background tasks are counted until any sign of their end") {
  conversation c;
  c.lines({system_line("task_started", {{"task_id", "a"}}),
           system_line("task_started", {{"task_id", "b"}})});
  REQUIRE(c.agent->open_tasks() == 2);
  c.lines(
    {system_line("task_updated", {{"task_id", "a"}, {"patch", {{"status", "running"}, {"x", 1}}}}),
     system_line("task_updated", {{"task_id", "a"}, {"patch", {{"status", "killed"}, {"x", 1}}}}),
     system_line("task_notification", {{"task_id", "b"}, {"status", "stopped"}})});
  REQUIRE(c.agent->open_tasks() == 0);
  c.line(system_line("background_tasks_changed",
                     {{"tasks", json::array({{{"task_id", "c"}, {"task_type", "local_bash"}}})}}));
  REQUIRE(c.agent->open_tasks() == 1);
  c.exit({0, 0});
  REQUIRE(c.agent->open_tasks() == 0);
}

SCENARIO("what comes after the end of a turn is recorded, but ends nothing") {
  conversation c;
  c.lines({init(), says("Started."), result("Started.")});
  REQUIRE(c.ends.size() == 1);
  c.lines({system_line("task_updated",
                       {{"task_id", "b"}, {"patch", {{"status", "completed"}, {"x", 1}}}}),
           says("The job is done.", "msg_2"),
           result("The job is done.", {{"origin", {{"kind", "task-notification"}, {"x", 1}}}})});
  REQUIRE(c.ends.size() == 1);
  REQUIRE(c.items("message").at(1)["text"] == "The job is done.");
  REQUIRE(c.notice("background_result")["text"] == "The job is done.");
  c.exit({0, 0});
  REQUIRE(c.ends.size() == 1);
}

SCENARIO("a result of background work does not end the turn that runs") {
  conversation c;
  c.line(result("background", {{"origin", {{"kind", "task-notification"}, {"x", 1}}}}));
  REQUIRE(c.ends.empty());
  c.lines({says("mine"), result("mine", {{"origin", {{"kind", "human"}, {"x", 1}}}})});
  REQUIRE(c.end().text == "mine");
}

SCENARIO("stop reasons, idle states and usage are no end of a turn") {
  conversation c;
  c.lines({assistant(tool_use("t", "Bash")),
           stream({{"type", "message_delta"}, {"delta", {{"stop_reason", "tool_use"}, {"x", 1}}}}),
           stream({{"type", "message_stop"}, {"x", 1}}),
           system_line("session_state_changed", {{"state", "idle"}})});
  REQUIRE(c.ends.empty());
  c.lines({tool_result("t", "ok"), says("done", "msg_2"), result("done")});
  REQUIRE(c.end().how == outcome::succeeded);
}

SCENARIO("after a reset the next line tells the new conversation") {
  conversation c;
  c.lines({init(), says("before"), result("before", {{"total_cost_usd", 1.5}})});
  REQUIRE(c.end().cost_usd == Approx(1.5));
  c.agent->begin_turn("again");
  c.lines({R"({"type":"conversation_reset","new_conversation_id":"x"})",
           init({{"session_id", session_b}}), says("after", "msg_2"),
           result("after", {{"total_cost_usd", 0.01}, {"session_id", session_b}})});
  REQUIRE(c.session == session_b);
  REQUIRE(c.end().cost_usd == Approx(0.01));
  REQUIRE_FALSE(c.notice("conversation_reset").is_null());
  REQUIRE(c.of("session.started").at(1)["session"] == session_b);
  REQUIRE(c.of("session.started").at(1)["follows"] == c.of("session.started").at(0)["session"]);
  REQUIRE_FALSE(c.of("session.started").at(0).contains("follows"));
}

SCENARIO(
  "the cost of a turn is what the running total grew by, also where the total starts again") {
  conversation c;
  const auto turn = [&](double total, const json& more = json::object()) {
    c.agent->begin_turn("x");
    c.line(result("x", with({{"total_cost_usd", total}}, more)));
    return c.end().cost_usd;
  };
  REQUIRE(turn(1.0) == Approx(1.0));
  REQUIRE(turn(1.25) == Approx(0.25));
  REQUIRE(turn(1.25) == Approx(0.0));
  // Whole billionths: 1.35 - 1.25 is 0.10000000000000009.
  REQUIRE(dump_json(json(turn(1.35))) == "0.1");
  REQUIRE(turn(0.1) == Approx(0.1));
  REQUIRE(turn(-5) == Approx(0.0));
  c.line(result("background", {{"total_cost_usd", 0.4}}));
  REQUIRE(turn(0.5) == Approx(0.4));
}

SCENARIO("two adapters never give the same id") {
  conversation a, b;
  a.line(says("x"));
  b.line(says("x"));
  REQUIRE(a.items("message").at(0)["id"] != b.items("message").at(0)["id"]);
}

SCENARIO("B81: the tools of MCP servers that do not answer are not claimed, and are once they do") {
  conversation agent;
  const auto start = [](const char* status) {
    auto servers = json::array();
    servers.push_back(json::object({{"name", "my files.v2"}, {"status", status}}));
    servers.push_back(json::object({{"name", "my"}, {"status", "failed"}}));
    return init(json::object(
      {{"tools", json::array({"Read", "mcp__my_files_v2__list", "mcp__my_files_v20__x"})},
       {"mcp_servers", std::move(servers)}}));
  };
  for (const auto* status : {"pending", "failed", "needs-auth"}) {
    agent.lines({start(status)});
    CHECK(agent.tools == std::vector<std::string>{"Read", "mcp__my_files_v20__x"});
  }
  agent.lines({start("connected")});
  CHECK(agent.tools.size() == 3);
  CHECK(agent.of("session.started").back().at("tools").size() == 3);
}
