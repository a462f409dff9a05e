#include "app/doctor.hpp"

#include "agents/settings_files.hpp"
#include "app/api_client.hpp"
#include "app/process_limits.hpp"
#include "app/server.hpp"
#include "app/setting_values.hpp"
#include "base/json.hpp"
#include "base/redactor.hpp"
#include "base/small_file.hpp"
#include "http/auth.hpp"
#include "storage/data_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tidemark {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds version_limit{5};

/// Reads what arrives until end of file or the deadline; true if the end came.
bool read_to_end(int fd, std::string& out, std::chrono::steady_clock::time_point deadline) {
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
    pollfd waiting{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0)
      return false;
    const auto size = ::read(fd, buffer.data(), buffer.size());
    if (size <= 0 || out.size() > buffer.size())
      return true;
    out.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

/// The first line of `<binary> --version`; nothing if it does not start or does not end in time.
std::optional<std::string> version_of(const std::string& binary) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); // so that its helpers end with it
  std::string program = binary;
  std::string flag = "--version";
  const std::array<char*, 3> argv{program.data(), flag.data(), nullptr};
  pid_t pid = 0;
  const int failed =
    ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(pipe[1]);
  std::string out;
  const bool ended =
    failed == 0 && read_to_end(pipe[0], out, std::chrono::steady_clock::now() + version_limit);
  ::close(pipe[0]);
  if (failed == 0) {
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  if (!ended || out.empty())
    return std::nullopt;
  return out.substr(0, out.find('\n'));
}

/// A text that stands in examples where a key belongs: `<your key>`, `sk-ant-...`, `changeme`.
bool is_placeholder(std::string_view key) {
  constexpr std::array<std::string_view, 9> words{
    "your", "placeholder", "changeme", "change", "replace", "todo", "example", "dummy", "none"};
  constexpr std::string_view never_in_keys = "<>{}$ \t\n";
  if (key.find_first_of(never_in_keys) != key.npos || key.find("...") != key.npos
      || key.find("…") != key.npos)
    return true;
  if (key.size() > 2 && key.find_first_not_of(key.front()) == key.npos) // xxxx
    return true;
  while (!key.empty()) {
    const auto end = std::min(key.find_first_of("-_."), key.size());
    std::string word{key.substr(0, end)};
    std::ranges::transform(word, word.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (std::ranges::find(words, word) != words.end())
      return true;
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return false;
}

/// A key and where it stands.
struct found_key {
  std::string place;
  std::string key;
};

/// A variable that agents get to see; empty if it is not set or not passed on.
std::string passed(const agent_options& agent, const std::string& name) {
  const auto& names = agent.passed_names;
  const auto set = agent.server_environment.find(name);
  const bool seen = std::ranges::find(names, name) != names.end();
  return seen && set != agent.server_environment.end() ? set->second : std::string{};
}

std::optional<found_key> passed_key(const agent_options& agent) {
  for (const auto* name : {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"})
    if (auto key = passed(agent, name); !key.empty())
      return found_key{name, std::move(key)};
  return std::nullopt;
}

std::optional<found_key> provider_key(const json& file) {
  const auto active = string_or(file, "active_provider");
  const auto& providers = object_at(file, "providers");
  const auto found = providers.find(active);
  if (found == providers.end() || string_or(*found, "auth_token").empty())
    return std::nullopt;
  return found_key{fmt::format("provider \"{}\"", active), string_or(*found, "auth_token")};
}

std::string project_settings_of(const agent_options& agent) {
  return fs::path{agent.workspace_root} / ".claude" / "settings.json";
}

/// What the settings file of all workspaces gives agents (`<workspace.root>/.claude/settings.json`).
std::optional<found_key> project_key(const agent_options& agent) {
  const auto path = project_settings_of(agent);
  const auto text = read_settings_file(path);
  const auto file = read_project_settings(text.value_or(std::nullopt));
  for (const auto* name : {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"})
    if (file && file->environment.contains(name))
      return found_key{path, file->environment.at(name)};
  return std::nullopt;
}

/// Loopback where the server listens everywhere.
std::string own_url(const http_options& http) {
  const auto host = http.host == "0.0.0.0" ? "127.0.0.1" : http.host == "::" ? "::1" : http.host;
  return server_url(host, http.port);
}

/// Why a listening socket cannot be bound there; empty if it can.
std::string why_not_bindable(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      failed != 0)
    return ::gai_strerror(failed);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned{found, ::freeaddrinfo};
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return std::strerror(errno);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const int failed =
    ::bind(fd, found->ai_addr, found->ai_addrlen) == 0 && ::listen(fd, 1) == 0 ? 0 : errno;
  ::close(fd);
  return failed == 0 ? std::string{} : std::strerror(failed);
}

} // namespace

check check_agent(const agent_options& agent) {
  const bool is_claude = agent.kind == "claude";
  const std::string remedy =
    is_claude
      ? "install it (npm install -g @anthropic-ai/claude-code), or point TIDEMARK_CLAUDE_BIN at "
        "it, or set TIDEMARK_AGENT=demo"
      : "build it (scripts/run builds everything); it stands beside the tidemark executable";
  if (::access(agent.binary.c_str(), X_OK) != 0)
    return {"agent", finding::bad,
            fmt::format("{}: {} is not an executable file", agent.kind, agent.binary), remedy};
  const auto version = version_of(agent.binary);
  if (!version)
    return {"agent", finding::bad,
            fmt::format("{}: {} --version gave no answer within 5 s", agent.kind, agent.binary),
            "run it by hand and see what it waits for"};
  return {"agent", finding::good, fmt::format("{}: {} ({})", agent.kind, agent.binary, *version)};
}

check check_model_access(const agent_options& agent) {
  for (const auto& path : {agent.settings_path, project_settings_of(agent)})
    if (const auto readable = read_settings_file(path); !readable)
      return {"model access", finding::bad, readable.error().message,
              "put a readable file in its place, or nothing: every turn would fail"};
  const auto settings_text = read_settings_file(agent.settings_path).value_or(std::nullopt);
  if (const auto usable = read_provider_settings(settings_text); !usable)
    return {"model access", finding::bad,
            fmt::format("{}: {}", agent.settings_path, usable.error().message),
            "mend the file: every turn would fail"};
  if (agent.kind != "claude")
    return {"model access", finding::good, "the demo agent needs none"};
  const auto remedy = fmt::format("write a provider with its auth_token to {}, or set "
                                  "ANTHROPIC_API_KEY and TIDEMARK_AGENT_ENV=ANTHROPIC_API_KEY",
                                  agent.settings_path);
  auto key = project_key(agent);
  if (!key)
    key = passed_key(agent);
  if (settings_text)
    if (auto own = provider_key(parse_json(*settings_text).value()))
      key = std::move(own);
  for (const auto* cloud : {"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"})
    if (!key && !passed(agent, cloud).empty())
      return {"model access", finding::good, fmt::format("by {}", cloud)};
  if (!key)
    return {"model access", finding::bad,
            fmt::format("no key: neither in {} nor in a variable that agents may see",
                        agent.settings_path),
            remedy};
  if (is_placeholder(key->key))
    return {"model access", finding::bad, fmt::format("the key of {} is a placeholder", key->place),
            "put a real key in its place: every turn would fail"};
  return {"model access", finding::good, key->place};
}

check check_guard(const agent_options& agent) {
  if (::access(agent.guard.c_str(), X_OK) == 0)
    return {"process guard", finding::good, agent.guard};
  return {"process guard", finding::bad, agent.guard + " is not an executable file",
          "install tidemark-guard beside tidemark, or set agent.guard"};
}

check check_data_directory(const settings& what) {
  const auto& directory = what.data_directory;
  std::error_code failed;
  auto existing = fs::path{directory};
  while (!fs::exists(existing, failed) && existing.has_relative_path())
    existing = existing.parent_path();
  if (!fs::is_directory(existing, failed) || ::access(existing.c_str(), W_OK | X_OK) != 0)
    return {"data directory", finding::bad, directory + " cannot be written",
            "give this user the directory (chown), or name another with TIDEMARK_DATA_DIR"};
  const auto space = fs::space(existing, failed);
  if (failed || space.capacity == 0)
    return {"data directory", finding::bad, directory + " is no place for files",
            "name another with TIDEMARK_DATA_DIR"};
  const auto detail = fmt::format("{} ({} MiB free)", directory, space.available >> 20);
  if (space.available < what.log.min_free_bytes)
    return {"data directory", finding::bad, detail,
            fmt::format("free some space: below {} nothing is accepted (log.min_free)",
                        show_bytes(what.log.min_free_bytes))};
  if (space.available < 4 * what.log.min_free_bytes)
    return {"data directory", finding::warning, detail, "little space is left"};
  return {"data directory", finding::good, detail};
}

std::optional<running_server> find_running_server(const settings& what, const std::string& token) {
  auto holder = data_directory::holder(what.log.directory);
  if (!holder)
    return std::nullopt;
  // A server that is stopped or hangs takes connections as well.
  constexpr std::chrono::milliseconds patience{3000};
  api_client client{{own_url(what.http), token.empty() ? what.http.token : token, patience}};
  const auto health = client.call("GET", "/health");
  const auto said = health ? parse_json(health->body) : expected<json>{json(nullptr)};
  const auto status = client.call("GET", "/api/v1/status");
  return running_server{std::move(*holder), said && string_or(*said, "status") == "healthy",
                        status || status.error().code != errc::unauthorized};
}

check check_log(const settings& what, const std::optional<running_server>& running) {
  if (running && running->answers)
    return {"log", finding::good,
            fmt::format("open in the running server, process {}", running->process)};
  std::error_code ignored;
  if (!fs::exists(what.log.directory, ignored) || fs::is_empty(what.log.directory, ignored))
    return {"log", finding::good, "none yet: the first start makes it"};
  auto options = what.log;
  const auto log = open_rocks_log(options);
  if (log)
    return {
      "log", finding::good,
      fmt::format("{} streams, head {}", (*log)->streams().size(), (*log)->figures().head.value)};
  const auto& why = log.error();
  if (why.code == errc::locked)
    return {"log", finding::warning, why.describe(),
            "a server runs on this directory; stop it before you start another"};
  return {"log", finding::bad, why.describe(), "see docs/operations.md, Recovery"};
}

check check_open_files(const settings& what) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto need = needed_open_files(what.http.max_connections, what.agent.max_live);
  const auto detail = fmt::format("up to {}, full load needs {}", limit.rlim_max, need);
  if (limit.rlim_max >= need)
    return {"open files", finding::good, detail};
  return {"open files", finding::warning, detail,
          "raise the hard limit (ulimit -Hn, LimitNOFILE=), or lower http.max_connections"};
}

check check_address_and_port(const http_options& http,
                             const std::optional<running_server>& running) {
  const auto url = server_url(http.host, http.port);
  if (!http.asks_token() && !is_loopback(http.host) && !http.insecure_no_auth)
    return {"address", finding::bad, url + " can be reached by others and no token is set",
            "set INTERNAL_API_TOKEN, or HOST=127.0.0.1"};
  const bool is_ours = running && running->answers;
  if (const auto why = why_not_bindable(http.host, http.port); !why.empty() && !is_ours)
    return {"address", finding::bad, fmt::format("{}: {}", url, why),
            "another server may run there; choose another port with PORT or --port"};
  if (is_ours && !running->admits)
    return {
      "address", finding::bad, url + ", where the running server wants another token",
      "set TIDEMARK_TOKEN to one of its tokens, or INTERNAL_API_TOKEN to the value that it was "
      "started with"};
  if (!http.token.empty() && http.token.size() < redactor::minimum_length)
    return {"address", finding::warning, url + " with a very short token",
            "take a long random token, for example from `openssl rand -hex 32`"};
  return {"address", finding::good,
          url
            + (is_ours             ? ", served by the running server"
               : http.asks_token() ? ", with a token"
                                   : ", without a token")};
}

std::vector<check> all_checks(const settings& what, const std::string& token) {
  const auto running = find_running_server(what, token);
  return {check_data_directory(what),
          check_log(what, running),
          check_agent(what.agent),
          check_model_access(what.agent),
          check_guard(what.agent),
          check_open_files(what),
          check_address_and_port(what.http, running)};
}

} // namespace tidemark
