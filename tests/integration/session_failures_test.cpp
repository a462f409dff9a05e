// Conversations that go wrong: interrupted, damaged, begun anew, asking while nobody is there.
#include "tests/integration/scene.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <sstream>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

std::string code_of(const json& completed) {
  return string_or(object_at(data_of(completed), "error"), "code");
}

std::vector<json> notices(const scene& stage, const std::string& code) {
  std::vector<json> found;
  for (const json& e : stage.events("demo", "types=agent.notice")) {
    if (string_or(data_of(e), "code") == code) {
      found.push_back(data_of(e));
    }
  }
  return found;
}

/// Lines of an agent in the order it says them; what every line needs is added here.
class transcript {
public:
  transcript& init(const std::string& session, const json& more = json::object()) {
    json line = json::object({{"type", "system"},
                              {"subtype", "init"},
                              {"session_id", session},
                              {"model", "stand-in-1"},
                              {"tools", json::array({"Read"})}});
    line.update(more);
    return add(line);
  }
  transcript& text(const std::string& session, const std::string& words) {
    const json block = json::object({{"type", "text"}, {"text", words}});
    const json message = json::object({{"role", "assistant"}, {"content", json::array({block})}});
    return add(
      json::object({{"type", "assistant"}, {"session_id", session}, {"message", message}}));
  }
  transcript& result(const std::string& session, const std::string& words, double cost = 0) {
    return add(
      json::object({{"type", "result"},
                    {"subtype", "success"},
                    {"is_error", false},
                    {"session_id", session},
                    {"result", words},
                    {"total_cost_usd", cost},
                    {"usage", json::object({{"input_tokens", 4}, {"output_tokens", 20}})}}));
  }
  transcript& add(const json& line) { return add_line(line.dump()); }
  transcript& add_line(const std::string& line) {
    lines_ += line + '\n';
    return *this;
  }
  [[nodiscard]] const std::string& lines() const { return lines_; }

private:
  std::string lines_;
};

/// Lets the demo agent say these lines as one turn.
json replay(scene& stage, const transcript& said) {
  write_file(stage.server.workspace("demo") + "/said.jsonl", said.lines());
  return stage.run("demo", "REPLAY said.jsonl");
}

} // namespace

SCENARIO("B18: an interrupt ends the turn once as cancelled, with or without a result line") {
  scene stage({.environment = {{"TIDEMARK_AGENT_INTERRUPT_GRACE", "500ms"},
                               {"TIDEMARK_AGENT_KILL_GRACE", "300ms"}}});
  // The first ends with a result line that has no `result`, the second by a signal without any.
  for (const char* prompt : {"TOOL sleep 600", "IGNORETERM\nTOOL sleep 600"}) {
    INFO(prompt);
    const std::string turn = stage.submit("demo", prompt);
    stage.await_event("demo", "item.started", turn);
    const std::string stop = of("demo", "turns/" + turn + "/interrupt");
    CHECK(stage.client.post(stop).status < 300);
    const json completed = stage.completion("demo", turn);
    INFO(completed.dump());
    CHECK(outcome_of(completed) == "cancelled");
    CHECK(code_of(completed) == "TASK_CANCELLED");
    CHECK(string_or(data_of(completed), "text").find("interrupted by user") == std::string::npos);
    CHECK(poll_until([&] { return stage.queue("demo").at("current_task").is_null(); }));

    const auto head = stage.events("demo").size();
    CHECK_FALSE(bool_or(stage.client.post(stop).parsed(), "cancelled", false));
    CHECK_FALSE(
      bool_or(stage.client.remove(of("demo", "turns/" + turn)).parsed(), "cancelled", false));
    CHECK(stage.events("demo").size() == head);
    CHECK(count_of(stage.events("demo", "turn=" + turn), "turn.completed") == 1);
    CHECK(outcome_of(stage.run("demo", "ECHO next")) == "succeeded");
  }
}

SCENARIO("B44: a conversation that a kill has damaged is named as such and left by a reset") {
  // On resume the stand-in answers as the model's API does to a tool call without its result.
  const stand_in_agent agent([](const std::string& demo, const std::string& directory) {
    return "echo \"$@\" >> '" + directory + "/argv'\n"
           + "case \" $* \" in *' --resume '*) read -r prompt; cat '" + directory
           + "/damaged'; exit 1;; esac\nexec '" + demo + "' \"$@\"\n";
  });
  const std::string cause = "API Error: 400 messages.2: `tool_use` ids were found without "
                            "`tool_result` blocks immediately after: toolu_1";
  transcript damaged;
  damaged.init("s-damaged")
    .text("s-damaged", cause)
    .add(json::object({{"type", "result"},
                       {"subtype", "success"},
                       {"is_error", true},
                       {"api_error_status", 400},
                       {"session_id", "s-damaged"},
                       {"result", cause}}));
  agent.write("damaged", damaged.lines());
  auto environment = agent.environment();
  environment["TIDEMARK_AGENT_INTERRUPT_GRACE"] = "500ms";
  environment["TIDEMARK_AGENT_KILL_GRACE"] = "300ms";
  scene stage({.environment = environment});
  CHECK(outcome_of(stage.run("demo", "hello")) == "succeeded");
  const std::string killed = stage.submit("demo", "IGNORETERM\nTOOL sleep 600");
  stage.await_event("demo", "item.started", killed);
  CHECK(stage.client.remove(of("demo", "turns/" + killed)).status < 300);
  CHECK(outcome_of(stage.completion("demo", killed)) == "cancelled");

  for (int i = 0; i < 2; ++i) {
    const json failed = stage.run("demo", "go on");
    INFO(failed.dump());
    CHECK(outcome_of(failed) == "failed");
    CHECK(code_of(failed) == "SESSION_BROKEN");
    const json& why = object_at(data_of(failed), "error");
    CHECK(string_or(why, "message").find("reset the session") != std::string::npos);
    CHECK_FALSE(bool_or(why, "retryable", true));
    const std::string own = "turn=" + string_or(failed, "turn");
    CHECK(count_of(stage.events("demo", own), "turn.started") == 1);
  }
  CHECK(stage.client.post(of("demo", "session/reset")).status == 200);
  const json fresh = stage.run("demo", "hello");
  INFO(fresh.dump());
  CHECK(outcome_of(fresh) == "succeeded");
  CHECK(string_or(data_of(fresh), "text").find("turn 1") != std::string::npos);
}

SCENARIO("B44: cancelling a tool call by interrupt leaves a conversation that goes on") {
  scene stage;
  CHECK(outcome_of(stage.run("demo", "hello")) == "succeeded");
  const std::string turn = stage.submit("demo", "TOOL sleep 600");
  stage.await_event("demo", "item.started", turn);
  CHECK(stage.client.post(of("demo", "turns/" + turn + "/interrupt")).status < 300);
  CHECK(outcome_of(stage.completion("demo", turn)) == "cancelled");
  const auto said = stage.events("demo", "turn=" + turn);
  CHECK(count_of(said, "item.started") == count_of(said, "item.completed"));
  const json next = stage.run("demo", "hello");
  CHECK(string_or(data_of(next), "text").find("turn 3") != std::string::npos);
}

SCENARIO("B46: a conversation that is begun anew in the middle of a turn is the one that goes on") {
  const stand_in_agent agent([](const std::string& demo, const std::string& directory) {
    return "echo \"$@\" >> '" + directory + "/argv'\nexec '" + demo + "' \"$@\"\n";
  });
  scene stage({.environment = agent.environment()});
  transcript before;
  before.init("s-before").text("s-before", "Before.").result("s-before", "Before.", 1.5);
  const json first = replay(stage, before);
  CHECK(string_or(data_of(first), "text") == "Before.");
  transcript after;
  after
    .add(json::object(
      {{"type", "system"},
       {"subtype", "compact_boundary"},
       {"session_id", "s-before"},
       {"compact_metadata", json::object({{"trigger", "auto"}, {"pre_tokens", 155000}})}}))
    .add(json::object({{"type", "conversation_reset"}, {"session_id", "s-before"}}))
    .init("s-after")
    .text("s-after", "After.")
    .result("s-after", "After.", 0.01);
  const json second = replay(stage, after);
  INFO(second.dump());
  CHECK(outcome_of(second) == "succeeded");
  CHECK(string_or(data_of(second), "text") == "After.");
  CHECK(number_or(data_of(first), "cost_usd", 0) == Approx(1.5));
  CHECK(number_or(data_of(second), "cost_usd", 0) == Approx(0.01));
  const std::string metrics = stage.client.get("/metrics").body;
  CHECK(metric(metrics, "tidemark_cost_usd_total") == Approx(1.51));
  CHECK(metric(metrics, "tidemark_tokens_total") == Approx(48));
  CHECK(notices(stage, "compaction").size() == 1);
  CHECK(notices(stage, "conversation_reset").size() == 1);

  stage.kill_and_restart();
  stage.run("demo", "hello");
  const std::string argv = agent.read("argv");
  CHECK(argv.find("--resume s-after") != std::string::npos);
  CHECK(argv.find("--resume s-before") == std::string::npos);
}

SCENARIO("B46: a conversation that is begun anew after a turn's end is the one that goes on") {
  const stand_in_agent agent([](const std::string& demo, const std::string& directory) {
    return "echo \"$@\" >> '" + directory + "/argv'\nexec '" + demo + "' \"$@\"\n";
  });
  scene stage({.environment = agent.environment()});
  transcript said;
  said.init("s-before")
    .text("s-before", "Before.")
    .result("s-before", "Before.", 1.5)
    .add(json::object({{"type", "conversation_reset"}, {"session_id", "s-before"}}))
    .init("s-after")
    .text("s-after", "After.")
    .result("s-after", "After.", 0.01);
  CHECK(string_or(data_of(replay(stage, said)), "text") == "Before.");
  CHECK(poll_until([&] { return notices(stage, "background_result").size() == 1; }));
  CHECK(stage.client.get(of("demo", "events?limit=1000")).body.find("After.") != std::string::npos);

  stage.kill_and_restart();
  stage.run("demo", "hello");
  const std::string argv = agent.read("argv");
  CHECK(argv.find("--resume s-after") != std::string::npos);
  CHECK(argv.find("--resume s-before") == std::string::npos);
}

SCENARIO("B25: lines of unknown types and odd shapes are kept, and the turn succeeds") {
  scene stage;
  const std::vector<std::string> odd{
    R"({"type":"brand_new_event","payload":{"x":[1,{"y":null}]}})",
    R"({"type":"system","subtype":"brand_new_subtype","n":18446744073709551616})",
    R"({"type":"system"})",
    R"({"session_id":"no type at all"})",
    R"({"type":7})",
    R"({"type":"assistant","message":{"role":"assistant","content":"a plain string"}})",
    R"({"type":"assistant","message":"no object"})",
    R"({"type":"assistant","message":{"content":["no block",{"type":"new_block","z":1},)"
    R"({"type":"text","text":"kept"}]}})",
    R"({"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"unknown"}]}})",
    R"({"type":"assistant","message":{"content":[{"type":"text","text":"half \ud83d of two"}]}})",
    R"({"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}})",
    R"({"type":"stream_event","event":7})",
  };
  transcript said;
  said.init("s-odd");
  for (const std::string& line : odd) {
    said.add_line(line);
  }
  said.add_line(
    R"({"type":"result","subtype":"success","is_error":false,"num_turns":-1,"result":"",)"
    R"("session_id":"s-odd","usage":{},"permission_denials":[]})");
  const json completed = replay(stage, said);
  INFO(completed.dump());
  CHECK(outcome_of(completed) == "succeeded");
  const auto events = stage.events("demo", "raw=true");
  std::string texts;
  std::vector<std::string> raw;
  for (const json& e : events) {
    raw.push_back(string_or(e, "raw"));
    texts += string_or(object_at(data_of(e), "item"), "text") + '\n';
  }
  CHECK(texts.find("kept\n") != std::string::npos);
  for (const std::string& line : odd) {
    INFO(line);
    CHECK(std::count(raw.begin(), raw.end(), line) == 1);
  }
  CHECK(count_of(events, "agent.noise") == 0);
  CHECK(notices(stage, "adapter_fault").empty());
  CHECK(stage.client.get("/metrics").body.find("brand_new") == std::string::npos);
  CHECK(outcome_of(stage.run("demo", "ECHO next")) == "succeeded");
}

SCENARIO("B48: what nobody is there to allow is denied by the policy, at once and on record") {
  const stand_in_agent agent([](const std::string&, const std::string& directory) {
    return "[ \"$1\" = --version ] && { echo '2.1.0 (stand-in)'; exit 0; }\n"
           "while read -r prompt; do\n  cat '"
           + directory + "/init'\n  while read -r ask <&3; do\n    printf '%s\\n' \"$ask\"\n"
           + "    read -r answer\n    printf '%s\\n' \"$answer\" >> answers\n  done 3< '"
           + directory + "/asks'\n  cat '" + directory + "/end'\ndone\n";
  });
  transcript init, asks, end;
  agent.write("init", init.init("s-asks").lines());
  agent.write("end", end.text("s-asks", "Over.").result("s-asks", "Over.").lines());
  const std::vector<std::string> tools{"Bash", "Write", "mcp__files__remove", "BrandNew", ""};
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const json request = json::object({{"subtype", "can_use_tool"},
                                       {"tool_name", tools[i]},
                                       {"tool_use_id", "toolu_" + std::to_string(i)},
                                       {"input", json::object({{"command", "touch x"}})}});
    asks.add(json::object({{"type", "control_request"},
                           {"request_id", "ask-" + std::to_string(i)},
                           {"request", request}}));
  }
  agent.write("asks", asks.lines());
  auto environment = agent.environment();
  environment["RUNTIME_POLICY"] = "strict";
  scene stage({.environment = environment});
  const std::string turn = stage.submit("demo", "do it");
  const std::string queued = stage.submit("demo", "and again");
  CHECK(outcome_of(stage.completion("demo", turn)) == "succeeded");
  CHECK(outcome_of(stage.completion("demo", queued)) == "succeeded");

  std::istringstream answers(read_file(stage.server.workspace("demo") + "/answers"));
  std::size_t answered = 0;
  for (std::string line; std::getline(answers, line); ++answered) {
    INFO(line);
    const auto answer = parse_json(line);
    REQUIRE(answer);
    const json& response = object_at(*answer, "response");
    CHECK(string_or(response, "request_id") == "ask-" + std::to_string(answered % tools.size()));
    CHECK(string_or(object_at(response, "response"), "behavior") == "deny");
    CHECK_FALSE(string_or(object_at(response, "response"), "message").empty()); // B47
  }
  CHECK(answered == 2 * tools.size());
  const auto record = stage.events("demo", "turn=" + turn);
  CHECK(count_of(record, "permission.requested") == tools.size());
  CHECK(count_of(record, "permission.resolved") == tools.size());
  for (const json& e : stage.events("demo", "types=permission.resolved")) {
    CHECK(string_or(data_of(e), "decision") == "deny");
    CHECK(string_or(data_of(e), "by") == "policy");
    CHECK(string_or(data_of(e), "policy") == "strict");
  }
  CHECK(metric(stage.client.get("/metrics").body, "tidemark_permission_decisions_total")
        == Approx(static_cast<double>(answered)));
}

SCENARIO("B81: MCP servers that do not answer are told of, and their coming too") {
  scene stage;
  const auto servers = [](const json& list) { return json::object({{"mcp_servers", list}}); };
  const auto server = [](const char* name, const char* status) {
    return json::object({{"name", name}, {"status", status}});
  };
  const auto say = [&](const json& more) {
    transcript said;
    said.init("s-mcp", more).text("s-mcp", "ok").result("s-mcp", "ok");
    CHECK(outcome_of(replay(stage, said)) == "succeeded");
  };
  json list = json::array({server("good", "connected"), server("slow", "pending"),
                           server("bad", "failed"), server("auth", "needs-auth")});
  json broken = servers(list);
  broken["mcp_server_errors"] =
    json::array({json::object({{"name", "typo"}, {"error", "command is missing"}})});
  say(broken);
  const json started = data_of(stage.await_event("demo", "session.started"));
  CHECK(array_at(started, "mcp_servers").size() == 5);
  CHECK(started.at("tools") == json::array({"Read"}));
  std::map<std::string, std::string> told;
  for (const json& notice : notices(stage, "mcp_server")) {
    told[string_or(notice, "server")] = string_or(notice, "status");
  }
  const std::map<std::string, std::string> expected{
    {"slow", "pending"}, {"bad", "failed"}, {"auth", "needs-auth"}, {"typo", "config_error"}};
  CHECK(told == expected);

  broken["mcp_servers"][1] = server("slow", "connected");
  say(broken);
  const auto all = notices(stage, "mcp_server");
  REQUIRE(all.size() == expected.size() + 1);
  CHECK(string_or(all.back(), "server") == "slow");
  CHECK(string_or(all.back(), "status") == "connected");

  say(json::object());
  CHECK(notices(stage, "mcp_server").size() == all.size());
}

SCENARIO(
  "B81: the capability API lists MCP servers with their state, also one that changes within a "
  "turn, and does not claim the tools of those that do not answer") {
  scene stage;
  const auto init = [](const char* status) {
    json servers = json::array();
    servers.push_back(json::object({{"name", "good"}, {"status", "connected"}}));
    servers.push_back(json::object({{"name", "slow"}, {"status", status}}));
    return json::object({{"tools", json::array({"Read", "mcp__good__a", "mcp__slow__b"})},
                         {"mcp_servers", std::move(servers)}});
  };
  const auto tools = [&] {
    return stage.client.get("/api/v1/workspaces/demo").parsed().at("tools");
  };
  const auto state_of = [&](const std::string& name) {
    const json known = stage.client.get("/api/v1/capabilities/tools").parsed();
    for (const json& server : known.at("mcp_servers")) {
      if (string_or(server, "name") == name && string_or(server, "workspace_id") == "demo") {
        return string_or(server, "status");
      }
    }
    return std::string{"(not listed)"};
  };
  CHECK(stage.client.get("/api/v1/capabilities/tools").parsed().at("mcp_servers").empty());
  transcript pending;
  pending.init("s-mcp", init("pending")).text("s-mcp", "ok").result("s-mcp", "ok");
  replay(stage, pending);
  CHECK(tools() == json::array({"Read", "mcp__good__a"}));
  CHECK(state_of("good") == "connected");
  CHECK(state_of("slow") == "pending");

  transcript flips;
  flips.init("s-mcp", init("pending"))
    .init("s-mcp", init("connected"))
    .text("s-mcp", "ok")
    .result("s-mcp", "ok");
  replay(stage, flips);
  CHECK(tools().size() == 3);
  CHECK(state_of("slow") == "connected");
  stage.kill_and_restart();
  CHECK(state_of("slow") == "connected");

  transcript fails;
  fails.init("s-mcp", init("connected"))
    .init("s-mcp", init("failed"))
    .text("s-mcp", "ok")
    .result("s-mcp", "ok");
  replay(stage, fails);
  CHECK(state_of("slow") == "failed");
  CHECK(tools() == json::array({"Read", "mcp__good__a"}));

  transcript absent;
  absent.init("s-mcp").text("s-mcp", "ok").result("s-mcp", "ok");
  replay(stage, absent);
  CHECK(state_of("slow") == "(not listed)");
}
