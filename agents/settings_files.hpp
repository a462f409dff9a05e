#pragma once

#include "base/error.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tidemark {

/// What a settings file contributes to the start of an agent. Empty texts in the file set nothing.
struct settings_contribution {
  std::map<std::string, std::string> environment;
  std::string model;                ///< for `--model`; empty if the file names none
  std::vector<std::string> secrets; ///< tokens in the file
  bool has_mcp_servers = false;
};

/// SETTINGS_PATH: the active provider as `ANTHROPIC_*` variables (contracts: workspace API v1,
/// Sessions, settings, policy). Errors: `invalid_argument` naming the file and what is wrong in it.
expected<settings_contribution> read_provider_settings(const std::optional<std::string>& file);

/// `.claude/settings.json` of the workspace root: its `env` and `model`. Errors as above.
expected<settings_contribution> read_project_settings(const std::optional<std::string>& file);

/// `.mcp.json` of the workspace: checked, because the agent would not start with a broken one, and
/// searched for tokens. Errors as above.
expected<settings_contribution> read_mcp_config(const std::optional<std::string>& file);

/// True if a variable of this name usually holds a secret.
bool names_secret(const std::string& name);

} // namespace tidemark
