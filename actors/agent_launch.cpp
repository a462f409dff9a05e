#include "actors/agent_launch.hpp"

#include "actors/workspace_directory.hpp"
#include "base/small_file.hpp"
#include "base/time.hpp"
#include "base/uuid.hpp"
#include "process/orphans.hpp"

#include <filesystem>
#include <optional>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace tidemark {
namespace {

namespace fs = std::filesystem;

using file_text = tl::expected<std::optional<std::string>, launch_problem>;

file_text read_small(const fs::path& path) {
  if (path.empty())
    return std::optional<std::string>{};
  return read_settings_file(path).map_error([](const error& why) {
    return launch_problem{"SETTINGS_INVALID", why.message};
  });
}

/// A directory that could not be made. One for which there is no room is not the directory's fault.
launch_problem no_directory(const error& why, std::string code, bool retryable) {
  const bool is_full = why.code == errc::full;
  return {is_full ? "STORAGE_FULL" : std::move(code), why.describe(), is_full || retryable};
}

} // namespace

agent_places places_of(const agent_options& options, const std::string& workspace) {
  std::error_code failed;
  const auto state = fs::absolute(fs::path{options.state_directory} / workspace, failed);
  return {(state / "config").string(), (state / "home").string()};
}

tl::expected<launch_inputs, launch_problem> gather_inputs(const agent_options& options,
                                                          const std::string& workspace,
                                                          const session_begin& begin) {
  launch_inputs inputs;
  const fs::path root{options.workspace_root};
  // Gone from under a loaded workspace: made again, as at its loading.
  auto directory = make_workspace_directory(options.workspace_root, workspace);
  if (!directory)
    return tl::make_unexpected(
      no_directory(directory.error(), "WORKSPACE_DIRECTORY_MISSING", false));
  if (const auto real = check_workspace_directory(*directory); !real)
    return tl::make_unexpected(launch_problem{real.error().code == errc::forbidden
                                                ? "WORKSPACE_DIRECTORY_LINK"
                                                : "WORKSPACE_DIRECTORY_MISSING",
                                              real.error().describe()});

  const auto own = places_of(options, workspace);
  inputs.workspace_directory = *directory;
  inputs.config_directory = own.config;
  inputs.home_directory = own.home;
  for (const auto& each : {own.config, own.home})
    if (const auto made = make_private_directory(each); !made)
      return tl::make_unexpected(no_directory(made.error(), "RUNTIME_UNAVAILABLE", true));

  auto provider = read_small(options.settings_path);
  auto project = read_small(root / ".claude" / "settings.json");
  auto mcp = read_small(fs::path{*directory} / ".mcp.json");
  for (auto* file : {&provider, &project, &mcp})
    if (!*file)
      return tl::make_unexpected(file->error());
  inputs.provider_settings = std::move(*provider);
  inputs.project_settings = std::move(*project);
  inputs.mcp_config = std::move(*mcp);

  inputs.binary = options.binary;
  inputs.rights = begin.rights;
  inputs.asks_people = begin.asks_people;
  inputs.skip_permissions = options.skip_permissions;
  inputs.running_as_root = ::geteuid() == 0;
  inputs.model = begin.model;
  inputs.resume_session = begin.resume;
  inputs.server_environment = options.server_environment;
  inputs.passed_names = options.passed_names;
  inputs.turn_environment = begin.environment;
  return inputs;
}

std::string directory_identity(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0)
    return {};
  return std::to_string(found.st_dev) + ":" + std::to_string(found.st_ino);
}

child_options to_child(const agent_options& options, const launch_plan& plan) {
  child_options child;
  child.argv = plan.argv;
  child.environment = plan.environment;
  child.environment[std::string{instance_mark}] = options.instance;
  child.mark = new_uuid(now_utc());
  child.cwd = plan.cwd;
  child.guard = options.guard;
  return child;
}

launch_problem explain_spawn(const error& why, const launch_plan& plan) {
  std::error_code failed;
  if (!fs::is_directory(plan.cwd, failed))
    return {"WORKSPACE_DIRECTORY_MISSING",
            "the workspace's directory \"" + plan.cwd + "\" is not there, or is no directory"};
  return {"RUNTIME_UNAVAILABLE", "the agent could not be started: " + why.describe(), true};
}

} // namespace tidemark
