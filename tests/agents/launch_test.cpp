#include "agents/launch.hpp"
#include "base/json.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace tidemark;

namespace {

launch_inputs ordinary() {
  launch_inputs in;
  in.binary = "/opt/claude";
  in.workspace_directory = "/srv/ws/demo";
  in.config_directory = "/srv/state/demo/config";
  in.home_directory = "/srv/state/demo/home";
  in.server_environment = {{"PATH", "/usr/bin:/bin"},
                           {"LANG", "C.UTF-8"},
                           {"LC_ALL", "C.UTF-8"},
                           {"TZ", "UTC"},
                           {"HOME", "/root"},
                           {"CLAUDECODE", "1"},
                           {"CLAUDE_CODE_ENTRYPOINT", "cli"},
                           {"CLAUDE_CODE_SSE_PORT", "4711"},
                           {"INTERNAL_API_TOKEN", "server-token-1"},
                           {"ANTHROPIC_API_KEY", "sk-from-the-server"}};
  return in;
}

/// What stands behind a flag; empty if the flag is missing.
std::string value_of(const launch_plan& plan, const std::string& flag) {
  const auto at = std::ranges::find(plan.argv, flag);
  return at == plan.argv.end() || at + 1 == plan.argv.end() ? std::string{} : *(at + 1);
}

bool has(const std::vector<std::string>& list, const std::string& what) {
  return std::ranges::find(list, what) != list.end();
}

constexpr const char* provider_file = R"({"active_provider":"main","timeout_ms":90000,"providers":{
  "main":{"name":"Main","base_url":"https://api.example","auth_token":"token-of-main","model":"model-x"},
  "other":{"name":"Other","base_url":"","auth_token":"token-of-other","model":""}}})";

} // namespace

SCENARIO("the agent is started in stream mode without a prompt in its arguments") {
  const auto plan = plan_claude(ordinary());
  REQUIRE(plan);
  REQUIRE(plan->argv.front() == "/opt/claude");
  REQUIRE(has(plan->argv, "-p"));
  REQUIRE(value_of(*plan, "--input-format") == "stream-json");
  REQUIRE(value_of(*plan, "--output-format") == "stream-json");
  REQUIRE(value_of(*plan, "--permission-prompt-tool") == "stdio");
  REQUIRE(has(plan->argv, "--verbose"));
  REQUIRE(has(plan->argv, "--include-partial-messages"));
  REQUIRE(plan->cwd == "/srv/ws/demo");
}

SCENARIO("the agent sees an allow list of the server's environment and a home of its own") {
  const auto plan = plan_claude(ordinary());
  REQUIRE(plan);
  const auto& env = plan->environment;
  REQUIRE(env.at("PATH") == "/usr/bin:/bin");
  REQUIRE(env.at("LC_ALL") == "C.UTF-8");
  REQUIRE(env.at("HOME") == "/srv/state/demo/home");
  REQUIRE(env.at("CLAUDE_CONFIG_DIR") == "/srv/state/demo/config");
  REQUIRE(env.at("DISABLE_AUTOUPDATER") == "1");
  REQUIRE(env.at("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC") == "1");
  for (const auto* name : {"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT",
                           "INTERNAL_API_TOKEN", "ANTHROPIC_API_KEY", "IS_SANDBOX"})
    REQUIRE(env.count(name) == 0);
}

SCENARIO("names of agent.env are let through, but never the server's own token or session marks") {
  auto in = ordinary();
  in.passed_names = {"ANTHROPIC_*", "INTERNAL_API_TOKEN", "CLAUDE*"};
  const auto plan = plan_claude(in);
  REQUIRE(plan);
  REQUIRE(plan->environment.at("ANTHROPIC_API_KEY") == "sk-from-the-server");
  REQUIRE(has(plan->secrets, "sk-from-the-server"));
  REQUIRE(plan->environment.count("INTERNAL_API_TOKEN") == 0);
  REQUIRE(plan->environment.count("CLAUDECODE") == 0);
  REQUIRE(plan->environment.count("CLAUDE_CODE_SSE_PORT") == 0);
}

SCENARIO("each policy limits the agent's tools") {
  auto in = ordinary();
  WHEN("it is relaxed") {
    in.rights = policy::relaxed;
    const auto plan = plan_claude(in);
    REQUIRE_FALSE(has(plan->argv, "--tools"));
    REQUIRE_FALSE(has(plan->argv, "--disallowedTools"));
  }
  WHEN("it is agent") {
    const auto plan = plan_claude(in);
    REQUIRE(value_of(*plan, "--tools") == "Read,Glob,Grep,Write,Edit,Bash,Task,WebFetch,WebSearch");
    REQUIRE(value_of(*plan, "--disallowedTools").starts_with("AskUserQuestion,"));
    REQUIRE_FALSE(has(plan->argv, "--setting-sources"));
  }
  WHEN("it is strict, nothing in the repository widens it") {
    in.rights = policy::strict;
    in.mcp_config = R"({"mcpServers":{"evil":{"command":"sh"}}})";
    const auto plan = plan_claude(in);
    REQUIRE(value_of(*plan, "--tools") == "Read,Glob,Grep");
    REQUIRE(value_of(*plan, "--setting-sources") == "user");
    REQUIRE(has(plan->argv, "--strict-mcp-config"));
    REQUIRE_FALSE(has(plan->argv, "--mcp-config"));
  }
}

SCENARIO("permissions are skipped on demand, also as root") {
  auto in = ordinary();
  in.skip_permissions = true;
  REQUIRE(has(plan_claude(in)->argv, "--dangerously-skip-permissions"));
  REQUIRE(plan_claude(in)->environment.count("IS_SANDBOX") == 0);
  in.running_as_root = true;
  REQUIRE(plan_claude(in)->environment.at("IS_SANDBOX") == "1");
}

SCENARIO("a conversation is resumed only by an id that can be one") {
  auto in = ordinary();
  REQUIRE_FALSE(has(plan_claude(in)->argv, "--resume"));
  in.resume_session = "11111111-1111-4111-8111-111111111111";
  REQUIRE(value_of(*plan_claude(in), "--resume") == in.resume_session);
  in.resume_session = "--dangerously-skip-permissions";
  REQUIRE_FALSE(has(plan_claude(in)->argv, "--resume"));
  REQUIRE_FALSE(has(plan_claude(in)->argv, "--dangerously-skip-permissions"));
}

SCENARIO("the active provider gives address, token, model and timeout; all tokens are secrets") {
  auto in = ordinary();
  in.provider_settings = provider_file;
  const auto plan = plan_claude(in);
  REQUIRE(plan);
  REQUIRE(plan->environment.at("ANTHROPIC_BASE_URL") == "https://api.example");
  REQUIRE(plan->environment.at("ANTHROPIC_AUTH_TOKEN") == "token-of-main");
  REQUIRE(plan->environment.at("ANTHROPIC_MODEL") == "model-x");
  REQUIRE(plan->environment.at("API_TIMEOUT_MS") == "90000");
  REQUIRE(has(plan->secrets, "token-of-main"));
  REQUIRE(has(plan->secrets, "token-of-other"));
}

SCENARIO("empty texts in the settings set nothing") {
  auto in = ordinary();
  in.provider_settings =
    R"({"active_provider":"x","providers":{"x":{"base_url":"","auth_token":"","model":""}}})";
  in.project_settings = R"({"env":{"EMPTY":"","FULL":"1"},"model":""})";
  const auto plan = plan_claude(in);
  REQUIRE(plan);
  for (const auto* name :
       {"ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL", "EMPTY"})
    REQUIRE(plan->environment.count(name) == 0);
  REQUIRE(plan->environment.at("FULL") == "1");
  REQUIRE_FALSE(has(plan->argv, "--model"));
}

SCENARIO("a broken settings file is an error that names the file") {
  auto in = ordinary();
  WHEN("the provider settings are no JSON") {
    in.provider_settings = "{\"active_provider\":";
    REQUIRE(plan_claude(in).error().message.find("SETTINGS_PATH") != std::string::npos);
  }
  WHEN("the active provider does not exist") {
    in.provider_settings = R"({"active_provider":"gone","providers":{"x":{}}})";
    REQUIRE(plan_claude(in).error().message.find("gone") != std::string::npos);
  }
  WHEN("the project settings are an array") {
    in.project_settings = "[]";
    REQUIRE(plan_claude(in).error().message.find(".claude/settings.json") != std::string::npos);
  }
  WHEN("the MCP file is cut off") {
    in.mcp_config = "{\"mcpServers\":{";
    REQUIRE(plan_claude(in).error().message.find(".mcp.json") != std::string::npos);
  }
}

SCENARIO("the model of the turn wins over the provider's, and that over the project's") {
  auto in = ordinary();
  in.project_settings = R"({"model":"of-the-project"})";
  REQUIRE(value_of(*plan_claude(in), "--model") == "of-the-project");
  in.provider_settings = provider_file;
  REQUIRE_FALSE(has(plan_claude(in)->argv, "--model"));
  in.model = "of-the-turn";
  REQUIRE(value_of(*plan_claude(in), "--model") == "of-the-turn");
  in.model = "--dangerously-skip-permissions";
  REQUIRE_FALSE(plan_claude(in));
}

SCENARIO("the turn's environment reaches the agent and is secret as a whole") {
  auto in = ordinary();
  in.turn_environment = {{"HARMLESS", "plain-value"}, {"HOME", "/elsewhere"}};
  const auto plan = plan_claude(in);
  REQUIRE(plan->environment.at("HARMLESS") == "plain-value");
  REQUIRE(plan->environment.at("HOME") == "/srv/state/demo/home");
  REQUIRE(has(plan->secrets, "plain-value"));
  in.turn_environment = {{"A=B", "x"}};
  REQUIRE_FALSE(plan_claude(in));
}

SCENARIO("MCP servers of the workspace are used without prompts, and their tokens are secrets") {
  auto in = ordinary();
  in.mcp_config =
    R"({"mcpServers":{"a":{"env":{"API_KEY":"key-of-a"},"headers":{"Authorization":"Bearer token-of-a"}}}})";
  const auto plan = plan_claude(in);
  REQUIRE(value_of(*plan, "--mcp-config") == "/srv/ws/demo/.mcp.json");
  REQUIRE(has(plan->secrets, "key-of-a"));
  REQUIRE(has(plan->secrets, "token-of-a"));
  in.mcp_config = "{}";
  REQUIRE_FALSE(has(plan_claude(in)->argv, "--mcp-config"));
}

SCENARIO("the fingerprint changes with all that the agent reads at start, and with nothing else") {
  const auto before = plan_claude(ordinary())->fingerprint;
  REQUIRE(before.size() == 64);
  REQUIRE(plan_claude(ordinary())->fingerprint == before);
  auto in = ordinary();
  in.resume_session = "abc";
  in.server_environment["UNRELATED"] = "1";
  REQUIRE(plan_claude(in)->fingerprint == before);
  const auto changed = [&](auto change) {
    auto other = ordinary();
    change(other);
    return plan_claude(other)->fingerprint != before;
  };
  REQUIRE(changed([](auto& x) { x.model = "m"; }));
  REQUIRE(changed([](auto& x) { x.rights = policy::strict; }));
  REQUIRE(changed([](auto& x) { x.turn_environment["A"] = "1"; }));
  REQUIRE(changed([](auto& x) { x.mcp_config = R"({"mcpServers":{}})"; }));
  REQUIRE(changed([](auto& x) { x.provider_settings = provider_file; }));
  REQUIRE(changed([](auto& x) { x.project_settings = R"({"env":{"A":"1"}})"; }));
  REQUIRE(changed([](auto& x) { x.skip_permissions = true; }));
  REQUIRE(changed([](auto& x) { x.binary = "/opt/other"; }));
}

SCENARIO("neighbour of B77: a settings file with more secrets than can be meant is refused") {
  const auto entries = [](std::size_t count, std::size_t size) {
    auto env = json::object();
    for (std::size_t i = 0; i < count; ++i)
      env["K" + std::to_string(i) + "_KEY"] = std::string(size, 'x') + std::to_string(1'000 + i);
    return env;
  };
  const auto mcp = [](const json& env) {
    return dump_json(
      json::object({{"mcpServers", json::object({{"x", json::object({{"env", env}})}})}}));
  };
  auto in = ordinary();
  in.mcp_config = mcp(entries(1'000, 4));
  CHECK(plan_claude(in));
  for (const auto& env : {entries(1'001, 4), entries(40'000, 4), entries(2, 40'000)}) {
    in.mcp_config = mcp(env);
    const auto plan = plan_claude(in);
    REQUIRE_FALSE(plan);
    CHECK(plan.error().message.find(".mcp.json") != std::string::npos);
    CHECK(plan.error().message.find("at most 1000 of 65536 bytes") != std::string::npos);
  }
  in.mcp_config.reset();
  auto urls = json::object();
  for (int i = 0; i < 1'001; ++i)
    urls["U" + std::to_string(i)] = "a://b@" + std::to_string(i);
  in.project_settings = dump_json(json::object({{"env", urls}}));
  const auto plan = plan_claude(in);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message.find(".claude/settings.json") != std::string::npos);
}
