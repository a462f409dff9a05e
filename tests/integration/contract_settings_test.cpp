// The drop-in contract, Sessions, settings, policy: what a task's agent is started with.
#include "tests/integration/contract_scene.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace tidemark;
using namespace tidemark::test;

namespace {

/// What the agent of a fresh task tells of its own process: argv, env, cwd.
json agent_of(contract_scene& stage, const std::string& workspace = "demo") {
  const auto seen = contract_task(stage.old, workspace, "ENV").finish();
  INFO(seen.text);
  REQUIRE(seen.succeeded());
  return parse_json(seen.text).value_or(json());
}

/// The argument that follows `name`; empty if the option is not given.
std::string option(const json& agent, const std::string& name) {
  const auto& argv = array_at(agent, "argv");
  const auto at = std::find(argv.begin(), argv.end(), json(name));
  return at == argv.end() || at + 1 == argv.end() ? std::string{} : (at + 1)->get<std::string>();
}

bool has_option(const json& agent, const std::string& name) {
  const auto& argv = array_at(agent, "argv");
  return std::find(argv.begin(), argv.end(), json(name)) != argv.end();
}

std::string variable(const json& agent, const char* name) {
  return string_or(object_at(agent, "env"), name, "(unset)");
}

} // namespace

SCENARIO(
  "contract, Sessions, settings, policy: the active provider is read again before each task, "
  "empty strings set nothing, a broken file is a clear error of the task") {
  contract_scene stage;
  const auto file = stage.server.path("settings.json");
  write_file(file, R"({"active_provider":"one","timeout_ms":120000,"providers":{
    "one":{"name":"one","base_url":"http://127.0.0.1:9/one","auth_token":"","model":"m-1"},
    "two":{"name":"two","base_url":"","auth_token":"","model":"m-2"}}})");
  const auto first = agent_of(stage);
  CHECK(variable(first, "ANTHROPIC_BASE_URL") == "http://127.0.0.1:9/one");
  CHECK(variable(first, "ANTHROPIC_MODEL") == "m-1");
  CHECK(variable(first, "API_TIMEOUT_MS") == "120000");
  CHECK(variable(first, "ANTHROPIC_AUTH_TOKEN") == "(unset)");
  CHECK(first.at("cwd") == stage.server.workspace("demo"));

  stage.old.post("/api/v1/settings/providers/two/activate", "object");
  const auto second = agent_of(stage);
  CHECK(variable(second, "ANTHROPIC_MODEL") == "m-2");
  CHECK(variable(second, "ANTHROPIC_BASE_URL") == "(unset)");

  for (const char* broken : {"{ broken", "[]", R"({"providers":7})"}) {
    write_file(file, broken);
    const auto seen = contract_task(stage.old, "demo", "hello").finish();
    INFO(broken << " gave " << (seen.error ? seen.error->dump() : seen.text));
    CHECK(seen.faults.empty());
    CHECK(seen.clean_end);
    REQUIRE(seen.error);
    CHECK(string_or(*seen.error, "message").find("SETTINGS_PATH") != std::string::npos);
  }
  std::filesystem::remove(file);
  CHECK(contract_task(stage.old, "demo", "ECHO mended").finish().text == "mended");
}

SCENARIO(
  "contract, Sessions, settings, policy: the root's .claude/settings.json and the workspace's "
  ".mcp.json apply and are read per task") {
  contract_scene stage;
  CHECK_FALSE(has_option(agent_of(stage), "--mcp-config"));
  const auto project = stage.server.path("workspaces/.claude/settings.json");
  write_file(project, R"({"env":{"FROM_PROJECT":"yes","EMPTY":""},"model":"project-model"})");
  const auto mcp = stage.server.workspace("demo") + "/.mcp.json";
  write_file(mcp, R"({"mcpServers":{"files":{"command":"/bin/true","args":[]}}})");
  const auto seen = agent_of(stage);
  CHECK(variable(seen, "FROM_PROJECT") == "yes");
  CHECK(option(seen, "--model") == "project-model");
  CHECK(option(seen, "--mcp-config") == mcp);
  CHECK_FALSE(has_option(agent_of(stage, "other"), "--mcp-config"));

  write_file(project, R"({"env":{"FROM_PROJECT":"changed"}})");
  std::filesystem::remove(mcp);
  const auto later = agent_of(stage);
  CHECK(variable(later, "FROM_PROJECT") == "changed");
  CHECK_FALSE(has_option(later, "--model"));
  CHECK_FALSE(has_option(later, "--mcp-config"));
}

SCENARIO(
  "contract, Sessions, settings, policy: each policy limits the tools by --tools and blocks by "
  "--disallowedTools, and the status says the same") {
  struct row {
    const char* policy;
    const char* allowed;
    const char* blocked;
    bool network, files, commands;
  };
  const row rows[] = {
    {"relaxed", "", "", true, true, true},
    {"agent", "Read,Glob,Grep,Write,Edit,Bash,Task,WebFetch,WebSearch",
     "AskUserQuestion,EnterPlanMode,ExitPlanMode,Skill,TaskOutput,TaskStop,ToolSearch,TodoWrite,"
     "NotebookEdit",
     true, true, true},
    {"strict", "Read,Glob,Grep", "Bash,Write,Edit,Task,WebFetch,WebSearch", false, false, false},
  };
  for (const auto& [policy, allowed, blocked, network, files, commands] : rows) {
    INFO(policy);
    contract_scene stage({.environment = {{"RUNTIME_POLICY", policy}}});
    const auto agent = agent_of(stage);
    CHECK(option(agent, "--tools") == allowed);
    CHECK(option(agent, "--disallowedTools") == blocked);
    CHECK_FALSE(has_option(agent, "--dangerously-skip-permissions"));
    const auto joined = [](const json& names) {
      std::string text;
      for (const auto& name : names)
        text += (text.empty() ? "" : ",") + name.get<std::string>();
      return text;
    };
    const auto summary = stage.old.get("/api/v1/status", "Status").at("capabilities").at("policy");
    CHECK(joined(summary.at("allowed_tools")) == allowed);
    CHECK(joined(summary.at("blocked_tools")) == blocked);
    CHECK(summary.at("allow_network") == network);
    CHECK(summary.at("allow_file_modification") == files);
    CHECK(summary.at("allow_command_execution") == commands);
  }
}

SCENARIO("contract, Sessions, settings, policy: SKIP_PERMISSIONS asks for no permission, as root "
         "with the mark that the CLI then wants") {
  contract_scene stage({.environment = {{"SKIP_PERMISSIONS", "true"}}});
  const auto agent = agent_of(stage);
  CHECK(has_option(agent, "--dangerously-skip-permissions"));
  CHECK(variable(agent, "IS_SANDBOX") == (::geteuid() == 0 ? "1" : "(unset)"));
  CHECK(contract_task(stage.old, "demo", "TOOL true").finish().succeeded());
  for (const auto& each : stage.events("demo"))
    CHECK_FALSE(string_or(each, "type").starts_with("permission."));
}

SCENARIO("contract, Sessions, settings, policy: the session changes only by a successful result") {
  contract_scene stage;
  const auto session = [&] {
    return stage.old.get("/api/v1/workspaces/demo", "WorkspaceInfo").at("session_id");
  };
  CHECK_FALSE(contract_task(stage.old, "demo", "ERROR first").finish().succeeded());
  CHECK(session().is_null());
  const auto first = contract_task(stage.old, "demo", "hello").finish();
  const auto kept = session();
  CHECK(kept == first.of("done").at(0).at("session_id"));
  for (const char* prompt : {"ERROR no", "SIGNAL 9", "EXIT 1"}) {
    CHECK_FALSE(contract_task(stage.old, "demo", prompt).finish().succeeded());
    CHECK(session() == kept);
  }
  const auto sessions = stage.old.get("/api/v1/sessions", "Sessions").at("sessions");
  REQUIRE(sessions.size() == 1);
  CHECK(sessions.at(0).at("workspace_id") == "demo");
  CHECK(sessions.at(0).at("session_id") == kept);
  CHECK(stage.old.get("/api/v1/sessions/demo", "Session") == sessions.at(0));
}

SCENARIO("a pipe or a huge file at SETTINGS_PATH is refused by name and holds up nothing") {
  contract_scene stage;
  const auto file = stage.server.path("settings.json");
  const auto refused = [&] {
    for (int i = 0; i < 6; ++i) { // more than there are threads for the disk
      const auto got = stage.client.get("/api/v1/settings");
      CHECK(got.status >= 400);
      CHECK(got.body.find("settings.json") != std::string::npos);
      CHECK(got.body.find("1 MiB") != std::string::npos);
    }
  };
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  refused();
  std::filesystem::remove(file);
  write_file(file, "{}");
  std::filesystem::resize_file(file, 700 << 20);
  refused();
  std::filesystem::remove(file);
  CHECK(stage.client.get("/api/v1/settings").status == 200);
}
