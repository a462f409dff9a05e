#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// What one settings file that agents can write may bring: all output is searched for its secrets.
inline constexpr std::size_t most_secrets = 1'000;
inline constexpr std::size_t most_secret_bytes = 64 << 10;

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

/// `.claude/settings.json` of the workspace root: its `env` and `model`. Errors as above,
/// and more secrets than `most_secrets` or `most_secret_bytes`.
expected<settings_contribution> read_project_settings(const std::optional<std::string>& file);

/// `.mcp.json` of the workspace: checked, because the agent would not start with a broken one, and
/// searched for tokens. Errors as for the project's settings.
expected<settings_contribution> read_mcp_config(const std::optional<std::string>& file);

/// True if a variable of this name usually holds a secret.
bool names_secret(const std::string& name);

/// True if this is a URL with a user or password in it.
bool holds_credentials(std::string_view url);

} // namespace tidemark
