// Conversations over restarts, moves, cancels and changes of the policy.
#include "tests/integration/scene.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>

using namespace tidemark;
using namespace tidemark::test;

namespace {

/// The demo agent, writing down how it was called.
stand_in_agent recorded_agent() {
  return stand_in_agent([](const std::string& demo, const std::string& directory) {
    return "[ \"$1\" = --version ] || echo \"$@\" >> '" + directory + "/argv'\nexec '" + demo
           + "' \"$@\"\n";
  });
}

std::vector<std::string> calls_of(const stand_in_agent& agent) {
  std::vector<std::string> calls;
  std::istringstream lines(agent.read("argv"));
  for (std::string line; std::getline(lines, line);) {
    calls.push_back(line);
  }
  return calls;
}

bool resumes(const std::string& call) {
  return call.find("--resume") != std::string::npos
         || call.find("--session-id") != std::string::npos;
}

pid_t agent_of(const json& started) {
  return static_cast<pid_t>(int_or(object_at(data_of(started), "agent"), "pid", -1));
}

} // namespace

SCENARIO(
  "B40: a first turn that ends before the agent has begun leaves no conversation to resume") {
  const auto agent = recorded_agent();
  auto environment = agent.environment();
  environment["TIDEMARK_AGENT_INTERRUPT_GRACE"] = "300ms";
  environment["TIDEMARK_AGENT_KILL_GRACE"] = "300ms";
  scene stage({.environment = environment});
  const std::string turn = stage.submit("demo", "NOISE\nLATEINIT 60000\nECHO never");
  stage.await_event("demo", "agent.noise", turn); // the noise: the agent has its prompt
  SECTION("by a cancel") {
    stage.client.remove(of("demo", "turns/" + turn));
  }
  SECTION("by an interrupt") {
    stage.client.post(of("demo", "turns/" + turn + "/interrupt"));
  }
  SECTION("by a crash of the server") {
    stage.kill_and_restart();
  }
  CHECK(outcome_of(stage.completion("demo", turn)) != "succeeded");
  const json next = stage.run("demo", "hello");
  INFO(next.dump());
  CHECK(outcome_of(next) == "succeeded");
  const auto calls = calls_of(agent);
  INFO(agent.read("argv"));
  CHECK(std::none_of(calls.begin(), calls.end(), resumes));
}

SCENARIO("B40: after a crash in its first turn a workspace goes on, by one call of the agent") {
  const auto agent = recorded_agent();
  scene stage({.environment = agent.environment()});
  const std::string turn = stage.submit("demo", "WORDS 1000 20");
  stage.await_event("demo", "item.delta", turn);
  stage.kill_and_restart();
  CHECK(outcome_of(stage.completion("demo", turn)) == "interrupted");
  const json next = stage.run("demo", "hello");
  INFO(next.dump());
  CHECK(outcome_of(next) == "succeeded");
  CHECK(count_of(stage.events("demo", "turn=" + string_or(next, "turn")), "turn.started") == 1);
}

SCENARIO("B42: directories that were moved, to a long path, keep what is in them") {
  scene stage;
  CHECK(text_of(stage.run("demo", "TOOL touch kept")) == "Done.");
  stage.server.kill();
  const std::string far = stage.server.path(std::string(230, 'x'));
  std::filesystem::create_directory(far);
  for (const char* moved : {"data", "workspaces"}) {
    std::filesystem::rename(stage.server.path(moved), far + "/" + moved);
  }
  stage.server.set_environment("TIDEMARK_DATA_DIR", far + "/data");
  stage.server.set_environment("WORKSPACE_ROOT", far + "/workspaces");
  stage.server.start();
  stage.reconnect();
  const json seen = stage.run("demo", "TOOL pwd > where; ls > names");
  INFO(seen.dump());
  CHECK(outcome_of(seen) == "succeeded");
  const std::string directory = far + "/workspaces/demo";
  CHECK(read_file(directory + "/where") == directory + "\n");
  CHECK(read_file(directory + "/names").find("kept\n") != std::string::npos);
  // The agent finds its conversation, or the log says that it is lost: never silence.
  const json third = stage.run("demo", "hello");
  const bool goes_on = text_of(third).find("turn 3.") != std::string::npos;
  CHECK((goes_on || count_of(stage.events("demo"), "session.lost") == 1));
}

SCENARIO("B50: a conversation that is resumed after a restart is held to the policy of now") {
  const auto agent = recorded_agent();
  auto environment = agent.environment();
  environment["RUNTIME_POLICY"] = "relaxed";
  scene stage({.environment = environment});
  CHECK(outcome_of(stage.run("demo", "TOOL touch allowed")) == "succeeded");
  CHECK(std::filesystem::exists(stage.server.workspace("demo") + "/allowed"));
  const json before = data_of(stage.await_event("demo", "turn.started"));
  CHECK(string_or(before, "policy") == "relaxed");

  stage.server.set_environment("RUNTIME_POLICY", "strict");
  stage.kill_and_restart();
  const json completed = stage.run("demo", "TOOL touch denied");
  CHECK_FALSE(std::filesystem::exists(stage.server.workspace("demo") + "/denied"));
  const json after =
    data_of(stage.await_event("demo", "turn.started", string_or(completed, "turn")));
  CHECK(string_or(after, "policy") == "strict");
  CHECK(string_or(after, "start") == "resume");
  const auto calls = calls_of(agent); // the probe's among them
  INFO(agent.read("argv"));
  CHECK(std::any_of(calls.begin(), calls.end(), [](const std::string& call) {
    return resumes(call) && call.find("--tools Read,Glob,Grep ") != std::string::npos;
  }));
  CHECK(std::none_of(calls.begin(), calls.end(), [](const std::string& call) {
    return resumes(call) && call.find("--setting-sources user") == std::string::npos;
  }));
}

SCENARIO("B47: what the policy allows is answered with the input that was asked for") {
  const stand_in_agent agent([](const std::string&, const std::string&) {
    return "[ \"$1\" = --version ] && { echo '2.1.0 (stand-in)'; exit 0; }\nread -r prompt\n"
           + std::string(R"(echo '{"type":"control_request","request_id":"ask-1","request":{)")
           + R"("subtype":"can_use_tool","tool_name":"Write","input":{"file_path":"x","n":1}}}')"
           + "\nread -r answer\nprintf '%s\\n' \"$answer\" > answer\n"
           + R"(echo '{"type":"result","subtype":"success","is_error":false,"result":"over"}')"
           + "\n";
  });
  auto environment = agent.environment();
  environment["RUNTIME_POLICY"] = "relaxed";
  scene stage({.environment = environment});
  CHECK(outcome_of(stage.run("demo", "hello")) == "succeeded");
  const auto answer = parse_json(read_file(stage.server.workspace("demo") + "/answer"));
  REQUIRE(answer);
  INFO(answer->dump());
  const json& response = object_at(object_at(*answer, "response"), "response");
  CHECK(string_or(response, "behavior") == "allow");
  CHECK(object_at(response, "updatedInput") == json::object({{"file_path", "x"}, {"n", 1}}));
  const json resolved = data_of(stage.await_event("demo", "permission.resolved"));
  CHECK(string_or(resolved, "decision") == "allow");
  CHECK(string_or(resolved, "by") == "policy");
}

SCENARIO("B63: a cancel by another client, after the first one has left, kills the real process") {
  scene stage;
  {
    sse_reader reader(stage.client, message_stream_path,
                      message_stream("demo", "IGNORETERM\nDEAF\nWORDS 5000 20"));
    REQUIRE(reader.wait_for("chunk"));
    reader.leave(leaving::by_reset);
  }
  const pid_t agent = agent_of(stage.await_event("demo", "turn.started"));
  REQUIRE(process_alive(agent));
  const http_client other(stage.server.url(), stage.server.token());
  CHECK(bool_or(other.remove(of("demo", "queue/current")).parsed(), "cancelled", false));
  CHECK(poll_until([&] { return !process_alive(agent); }));
  CHECK(outcome_of(stage.await_event("demo", "turn.completed")) == "cancelled");
}

SCENARIO("B30: a background task that never ends holds up no turn") {
  scene stage;
  const json first = stage.run("demo", "BACKGROUND 600000");
  const json second = stage.run("demo", "ECHO next");
  CHECK(outcome_of(second) == "succeeded");
  CHECK(text_of(second) == "next");
  const auto started = [&](const json& completed) {
    return agent_of(stage.await_event("demo", "turn.started", string_or(completed, "turn")));
  };
  CHECK(started(first) == started(second)); // its input stays open
}
