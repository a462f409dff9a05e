// Agents that cannot be started as they are: missing, moved, slow to tell their version, refusing.
#include "tests/integration/scene.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

const json& error_of(const json& completed) {
  return object_at(data_of(completed), "error");
}

/// Asks the agent for its tools now, as a client may at any time.
http_reply probe(const scene& stage) {
  return stage.client.send({.method = "POST",
                            .path = "/api/v1/capabilities/tools/refresh",
                            .body = "",
                            .limit = seconds(60)});
}

/// What the demo agent tells of its own process.
json environment_seen(scene& stage, const std::string& workspace) {
  const json completed = stage.run(workspace, "ENV");
  INFO(completed.dump());
  REQUIRE(outcome_of(completed) == "succeeded");
  return parse_json(text_of(completed)).value_or(json());
}

/// All processes whose pids the stand-in wrote down are gone.
bool all_gone(const stand_in_agent& agent) {
  std::istringstream pids(agent.read("pids"));
  for (pid_t pid = 0; pids >> pid;) {
    if (process_alive(pid)) {
      return false;
    }
  }
  return true;
}

} // namespace

SCENARIO("B14: a missing agent is named, and used as soon as it is there, without a restart") {
  const stand_in_agent agent;
  scene stage({.environment = agent.environment()});
  for (int i = 0; i < 2; ++i) {
    const json failed = stage.run("demo", "hello");
    INFO(failed.dump());
    CHECK(outcome_of(failed) == "failed");
    CHECK(string_or(error_of(failed), "code") == "RUNTIME_UNAVAILABLE");
    CHECK(string_or(error_of(failed), "message").find(agent.path()) != std::string::npos);
  }
  probe(stage);
  const json status = stage.client.get("/api/v1/status").parsed();
  INFO(status.dump());
  CHECK(string_or(object_at(status, "services"), "claude_runtime") == "unavailable");

  std::filesystem::create_symlink(program("tidemark-demo-agent"), agent.path());
  CHECK(outcome_of(stage.run("demo", "hello")) == "succeeded");
  probe(stage);
  CHECK(
    string_or(object_at(stage.client.get("/api/v1/status").parsed(), "services"), "claude_runtime")
    == "available");
  // An update that takes it away and brings another one.
  std::filesystem::remove(agent.path());
  CHECK(outcome_of(stage.run("other", "hello")) == "failed");
  agent.install([](const std::string& demo, const std::string& directory) {
    return "touch '" + directory + "/used'\nexec '" + demo + "' \"$@\"\n";
  });
  CHECK(outcome_of(stage.run("other", "hello")) == "succeeded");
  CHECK(std::filesystem::exists(std::filesystem::path(agent.path()).parent_path() / "used"));
}

SCENARIO("B14: a workspace whose directory cannot be made is told from a missing agent") {
  scene stage;
  CHECK(outcome_of(stage.run("demo", "hello")) == "succeeded");
  const std::string directory = stage.server.workspace("demo");
  std::filesystem::remove_all(directory);
  write_file(directory, "in the way");
  const json failed = stage.run("demo", "hello");
  INFO(failed.dump());
  CHECK(outcome_of(failed) == "failed");
  CHECK(string_or(error_of(failed), "code") == "WORKSPACE_DIRECTORY_MISSING");
  CHECK(string_or(error_of(failed), "message").find(directory) != std::string::npos);
  std::filesystem::remove(directory);
  CHECK(outcome_of(stage.run("demo", "hello")) == "succeeded");
}

SCENARIO("B14: a version that never comes, or never ends, delays no start and leaves no process") {
  struct trouble {
    const char* name;
    const char* version; ///< what the stand-in does when asked for it
  };
  for (const trouble& each :
       {trouble{"silence", "sleep 3600"}, trouble{"a flood", "head -c 10000000 /dev/zero"},
        trouble{"a helper of its own", "sleep 3600 & echo $! >> pids; sleep 3600"}}) {
    INFO(each.name);
    const stand_in_agent agent([&](const std::string& demo, const std::string& directory) {
      return "if [ \"$1\" = --version ]; then cd '" + directory + "'; echo $$ >> pids\n"
             + each.version + "\nexit\nfi\nexec '" + demo + "' \"$@\"\n";
    });
    scene stage({.environment = agent.environment()});
    CHECK(outcome_of(stage.run("demo", "hello")) == "succeeded");
    INFO(probe(stage).body);
    CHECK(stage.client.get("/ready").status == 200);
    CHECK_FALSE(agent.read("pids").empty());
    CHECK(poll_until([&] { return all_gone(agent); }));
  }
}

SCENARIO("B03: an agent that first reads its input to the end is not left waiting for it") {
  const stand_in_agent agent([](const std::string& demo, const std::string& directory) {
    return "if [ \"$1\" = --version ]; then cat > '" + directory
           + "/input'; echo '9.8.7 (stand-in)'; exit 0; fi\nexec '" + demo + "' \"$@\"\n";
  });
  scene stage({.environment = agent.environment()});
  const auto tools = probe(stage);
  INFO(tools.body);
  CHECK(tools.status == 200);
  CHECK(string_or(tools.parsed(), "source") == "probe");
  CHECK(agent.read("input").empty());
  // What a task runs gets an end of input as well, not the agent's own stream.
  const json completed = stage.run("demo", "TOOL cat; echo \"end of input\"");
  CHECK(outcome_of(completed) == "succeeded");
  std::string output;
  for (const json& e : stage.events("demo", "types=item.completed")) {
    const json& item = object_at(data_of(e), "item");
    output += string_or(item, "kind") == "tool_result" ? item.dump() : "";
  }
  INFO(output);
  CHECK(output.find("end of input") != std::string::npos);
  const json started =
    data_of(stage.await_event("demo", "turn.started", string_or(completed, "turn")));
  CHECK(string_or(object_at(started, "agent"), "version") == "9.8.7");
}

SCENARIO("B13: as root the agent runs without prompts only where it may, and says why elsewhere") {
  if (::geteuid() != 0) {
    WARN("skipped: only root is refused by the agent");
    return;
  }
  const std::string widened = R"json({"permissions":{"defaultMode":"bypassPermissions"}})json";
  for (const char* policy : {"relaxed", "agent", "strict"}) {
    INFO(policy);
    {
      scene stage({.environment = {{"RUNTIME_POLICY", policy}, {"SKIP_PERMISSIONS", "true"}}});
      const json completed = stage.run("demo", "ECHO fine");
      INFO(completed.dump());
      CHECK(outcome_of(completed) == "succeeded");
    }
    scene stage({.environment = {{"RUNTIME_POLICY", policy}}});
    write_file(stage.server.workspace("demo") + "/.claude/settings.json", widened);
    const json completed = stage.run("demo", "ECHO fine");
    INFO(completed.dump());
    const std::string own = "turn=" + string_or(completed, "turn");
    CHECK(count_of(stage.events("demo", own), "turn.started") == 1);
    if (std::string(policy) == "strict") {
      CHECK(outcome_of(completed) == "succeeded");
      continue;
    }
    CHECK(outcome_of(completed) == "failed");
    CHECK(string_or(error_of(completed), "code") == "RUNTIME_UNAVAILABLE");
    CHECK(string_or(error_of(completed), "message").find("settings.json") != std::string::npos);
    std::filesystem::remove(stage.server.workspace("demo") + "/.claude/settings.json");
    CHECK(outcome_of(stage.run("demo", "ECHO fine")) == "succeeded");
  }
}

SCENARIO("B42: workspaces whose names differ by a sign share nothing, and keep their directory") {
  scene stage;
  const std::vector<std::string> names{"a_b", "a-b", "a.b"};
  const auto turn_number = [&](const std::string& name) {
    const std::string text = text_of(stage.run(name, "hello"));
    return text.substr(text.find("turn "));
  };
  std::set<std::string> directories, configurations;
  std::vector<json> seen;
  for (const std::string& name : names) {
    seen.push_back(environment_seen(stage, name));
    directories.insert(string_or(seen.back(), "cwd"));
    configurations.insert(string_or(object_at(seen.back(), "env"), "CLAUDE_CONFIG_DIR"));
    CHECK(turn_number(name) == "turn 2.");
  }
  CHECK(directories.size() == names.size());
  CHECK(configurations.size() == names.size());
  CHECK(stage.client.post(of("a_b", "session/reset")).status == 200);
  CHECK(turn_number("a_b") == "turn 1.");
  CHECK(turn_number("a-b") == "turn 3.");

  // The same directories, reached by another name.
  stage.server.kill();
  for (const char* kept : {"data", "workspaces"}) {
    std::filesystem::create_directory_symlink(stage.server.path(kept),
                                              stage.server.path("link-" + std::string(kept)));
  }
  stage.server.set_environment("TIDEMARK_DATA_DIR", stage.server.path("link-data"));
  stage.server.set_environment("WORKSPACE_ROOT", stage.server.path("link-workspaces"));
  stage.server.start();
  stage.reconnect();
  CHECK(turn_number("a-b") == "turn 4.");
  CHECK(turn_number("a.b") == "turn 3.");
  CHECK(string_or(environment_seen(stage, "a.b"), "cwd") == string_or(seen[2], "cwd"));
  CHECK(count_of(stage.events("a.b"), "session.lost") == 0);
}

SCENARIO(
  "a link in the place of an agent's own directory is refused, and its target left as it is") {
  namespace fs = std::filesystem;
  scene stage;
  CHECK(outcome_of(stage.run("demo", "hello")) == "succeeded");
  const fs::path home = stage.server.path("data/agents/demo/home");
  const fs::path target = stage.server.path("public");
  REQUIRE(fs::is_directory(home));
  fs::create_directory(target);
  fs::permissions(target, fs::perms::all);
  fs::remove_all(home);
  fs::create_directory_symlink(target, home);
  CHECK(stage.client.post(of("demo", "session/reset")).status == 200); // a new process
  const json completed = stage.run("demo", "hello");
  INFO(completed.dump());
  CHECK(outcome_of(completed) == "failed");
  CHECK(string_or(error_of(completed), "code") == "RUNTIME_UNAVAILABLE");
  CHECK(fs::status(target).permissions() == fs::perms::all);
}
