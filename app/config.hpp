#pragma once

#include "app/settings.hpp"
#include "base/error.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

using environment_map = std::map<std::string, std::string>;

/// The text of a tidemark.toml and the name it is known by in messages.
struct config_file {
  std::string name;
  std::string text;
};

/// Where settings come from, strongest first.
struct config_inputs {
  std::map<std::string, std::string> flags; ///< setting key -> value
  environment_map environment;              ///< the whole environment; foreign names are ignored
  std::optional<config_file> file;
};

/// All settings, and where each that is not a default came from.
struct config {
  settings values;
  std::map<std::string, std::string>
    sources; ///< key -> `flag --http-port`, `environment PORT`, `tidemark.toml line 3`
  std::vector<std::string> warnings; ///< for example a TIDEMARK_ name that is no setting
};

/// Merges the sources: flags > environment > file > defaults. Empty environment values count as
/// unset; `TIDEMARK_HTTP_PORT` wins over the shared name `PORT`. Pure.
/// Errors: `invalid_argument` naming the key, the place it was given and what is allowed.
expected<config> load_config(const config_inputs& inputs);

/// Fills in paths that follow from others, makes all absolute, and decides on the agent:
/// `agent.kind=auto` becomes `claude` if its executable is found, else `demo`.
/// `executable` is the path of this program: guard and demo agent stand beside it.
/// Looks at the file system, changes nothing. Errors: `invalid_argument`.
expected<void> resolve(config& what, const environment_map& environment,
                       const std::filesystem::path& executable);

/// Reads `path`, or `tidemark.toml` in the working directory if `path` is empty; nothing if that
/// one does not exist. Errors: `not_found`, `io` for a file that was asked for.
expected<std::optional<config_file>> read_config_file(const std::string& path);

/// Looks `name` up in a PATH; a name with a slash must be an executable file itself.
std::optional<std::filesystem::path> find_executable(std::string_view name,
                                                     std::string_view search_path);

/// A line a setting with value and source, secrets masked.
std::string show_config(const config& what);
/// The same as a JSON object: key -> {"value", "source"}.
std::string show_config_json(const config& what);

/// The environment of this process.
environment_map process_environment();

/// Overwrites the values of variables whose names say that they are secret, where the kernel shows them
/// to every process of this user as `/proc/<pid>/environ`: agents are such processes. Take what is
/// needed with `process_environment` before. Not while other threads run.
void clear_secret_variables();
/// The path of this program.
std::filesystem::path process_executable();

} // namespace tidemark
