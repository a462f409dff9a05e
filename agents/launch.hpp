#pragma once

#include "agents/policy.hpp"
#include "base/error.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Everything that decides how an agent process is started. Files come as their contents, so that
/// this stays pure; empty optional means "no such file".
struct launch_inputs {
  std::string binary;              ///< path of the agent's executable
  std::string workspace_directory; ///< cwd of the agent, canonical
  std::string config_directory;    ///< CLAUDE_CONFIG_DIR of this workspace
  std::string home_directory;      ///< HOME of this workspace's agent
  policy rights = policy::agent;
  bool asks_people = false; ///< requests are put to people: what asks is offered beyond `rights`
  bool skip_permissions = false;
  bool running_as_root = false;
  std::string model;          ///< explicit model of the turn or workspace; may be empty
  std::string resume_session; ///< conversation to resume; empty for a fresh one
  std::optional<std::string> provider_settings;          ///< SETTINGS_PATH file
  std::optional<std::string> project_settings;           ///< WORKSPACE_ROOT/.claude/settings.json
  std::optional<std::string> mcp_config;                 ///< <workspace>/.mcp.json
  std::map<std::string, std::string> server_environment; ///< the server's own, filtered here
  std::vector<std::string> passed_names; ///< `agent.env`: names let through beside the allow list
  std::map<std::string, std::string> turn_environment; ///< env_vars of this turn; secrets
};

/// How to start the process.
struct launch_plan {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  std::string cwd;
  /// Changes when something that the agent reads at start has changed; equal fingerprints may
  /// share a live process. Does not cover the session to resume.
  std::string fingerprint;
  /// Values that must never reach the log: tokens of the settings file, turn environment, passed keys.
  std::vector<std::string> secrets;
};

/// What of the server's own environment an agent or a shell sees: an allow list and the names that
/// `agent.env` passes on, never the server's token or settings.
std::map<std::string, std::string>
allowed_environment(const std::map<std::string, std::string>& server_environment,
                    const std::vector<std::string>& passed_names);

/// Plans the start of Claude Code (contracts: claude-code-facts, workspace API v1). Prompts never
/// stand in argv. Errors: `invalid_argument` naming the broken settings file.
expected<launch_plan> plan_claude(const launch_inputs& inputs);

} // namespace tidemark
