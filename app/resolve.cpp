#include "agents/settings_files.hpp"
#include "app/config.hpp"
#include "base/small_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <unistd.h>

extern char** environ; // NOLINT: the one place that reads the process's environment

namespace tidemark {
namespace {

namespace fs = std::filesystem;

/// The settings file and everything that agents are handed must not depend on a working directory.
std::string rooted(const fs::path& path) {
  return fs::absolute(path).lexically_normal().string();
}

std::string search_path(const environment_map& environment) {
  const auto found = environment.find("PATH");
  return found == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : found->second;
}

void fill(std::string& path, const fs::path& otherwise) {
  path = rooted(path.empty() ? otherwise : fs::path{path});
}

void resolve_places(config& what, const fs::path& executable) {
  auto& s = what.values;
  s.data_directory = rooted(s.data_directory);
  const fs::path data = s.data_directory;
  s.log.directory = data;
  fill(s.agent.workspace_root, data / "workspaces");
  fill(s.agent.settings_path, "data/settings.json");
  fill(s.agent.state_directory, data / "agents");
  fill(s.agent.guard, executable.parent_path() / "tidemark-guard");
}

void resolve_agent(config& what, const environment_map& environment, const fs::path& executable) {
  auto& agent = what.values.agent;
  const auto path = search_path(environment);
  const auto claude = find_executable(agent.binary.empty() ? "claude" : agent.binary, path);
  if (agent.kind == "auto") {
    // A wrong path is not a wish for the demo agent: it must be seen, not papered over.
    agent.kind = claude || !agent.binary.empty() ? "claude" : "demo";
    what.sources["agent.kind"] =
      claude ? "found " + claude->string() : "default: no `claude` in PATH";
  }
  // The demo agent is ours and stands beside us; agent.binary names the CLI it stands in for.
  if (agent.kind == "demo")
    agent.binary = rooted(executable.parent_path() / "tidemark-demo-agent");
  else if (claude)
    agent.binary = rooted(*claude);
  else if (agent.binary.empty())
    agent.binary = "claude";
}

} // namespace

expected<void> resolve(config& what, const environment_map& environment,
                       const fs::path& executable) {
  resolve_places(what, executable);
  resolve_agent(what, environment, executable);
  auto& s = what.values;
  s.rules.agent = s.agent.kind;
  s.rules.rights = s.agent.rights;
  s.agent.server_environment = environment;
  if (!s.http.token.empty())
    s.agent.server_secrets.push_back(s.http.token);
  // What agents do not get they may still find, in a file or a history.
  for (const auto& [name, value] : environment)
    if (names_secret(name) && !value.starts_with('/'))
      s.agent.server_secrets.push_back(value);
  if (s.http.token.find_first_of(" \t\r\n") != std::string::npos)
    return fail(
      errc::invalid_argument,
      "http.token (INTERNAL_API_TOKEN) holds blanks or line breaks, which no client can send");
  return {};
}

std::optional<fs::path> find_executable(std::string_view name, std::string_view path) {
  const auto runnable = [](const fs::path& p) {
    std::error_code ignored;
    return fs::is_regular_file(p, ignored) && ::access(p.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string_view::npos)
    return runnable(name) ? std::optional{fs::path{name}} : std::nullopt;
  std::istringstream parts{std::string{path}};
  for (std::string directory; std::getline(parts, directory, ':');)
    if (const auto candidate = fs::path{directory.empty() ? "." : directory} / name;
        runnable(candidate))
      return candidate;
  return std::nullopt;
}

expected<std::optional<config_file>> read_config_file(const std::string& path) {
  const auto name = path.empty() ? std::string{"tidemark.toml"} : path;
  std::error_code ignored;
  if (path.empty() && !fs::exists(name, ignored))
    return std::nullopt;
  auto text = read_settings_file(name);
  if (!text)
    return fail(text.error().code,
                fmt::format("the configuration file cannot be used: {}", text.error().message));
  if (!*text)
    return fail(errc::not_found, fmt::format("cannot read the configuration file {}", name));
  return config_file{name, std::move(**text)};
}

environment_map process_environment() {
  environment_map all;
  for (auto** entry = environ; *entry; ++entry) {
    const std::string_view line{*entry};
    if (const auto equals = line.find('='); equals != std::string_view::npos)
      all.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return all;
}

void clear_secret_variables() {
  for (auto** entry = environ; *entry; ++entry) {
    const std::string name{*entry, std::strcspn(*entry, "=")};
    if (!names_secret(name))
      continue;
    auto* value = *entry + std::min(name.size() + 1, std::strlen(*entry));
    ::explicit_bzero(value, std::strlen(value));
  }
}

fs::path process_executable() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

} // namespace tidemark
