#include "actors/shell_launch.hpp"

#include "actors/agent_launch.hpp"
#include "actors/workspace_directory.hpp"
#include "agents/launch.hpp"
#include "base/uuid.hpp"
#include "process/orphans.hpp"

namespace tidemark {

expected<child_options> plan_shell(const agent_options& places, const shell_request& what) {
  const auto directory = make_workspace_directory(places.workspace_root, what.workspace);
  if (!directory)
    return tl::unexpected{directory.error()};
  if (const auto good = check_workspace_directory(*directory); !good)
    return tl::unexpected{good.error()};
  const auto own = places_of(places, what.workspace);
  for (const auto& each : {own.config, own.home})
    if (auto made = make_private_directory(each); !made)
      return tl::unexpected{made.error()};
  child_options child;
  child.argv = what.argv;
  child.cwd = *directory;
  child.environment = allowed_environment(places.server_environment, places.passed_names);
  child.environment["HOME"] = own.home;
  child.environment["CLAUDE_CONFIG_DIR"] = own.config;
  child.environment["TERM"] = "xterm-256color";
  child.environment.try_emplace("LANG", "C.UTF-8"); // what clients show is UTF-8 in any case
  child.environment[std::string{instance_mark}] = places.instance;
  child.mark = new_uuid(now_utc());
  child.guard = places.guard;
  child.terminal = what.size;
  return child;
}

error explain_shell(const error& why) {
  if (why.code == errc::forbidden || why.code == errc::full)
    return why;
  const auto code = why.code == errc::not_found ? errc::invalid_argument : errc::unavailable;
  return {code, "the shell could not be started: " + why.describe(), code == errc::unavailable};
}

} // namespace tidemark
