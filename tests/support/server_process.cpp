#include "tests/support/server_process.hpp"

#include "tests/support/poll_until.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace tidemark::test {
namespace {

using std::chrono::milliseconds;

// A test machine is slow when everything is built at once.
constexpr milliseconds start_limit{20'000};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) {
    all.push_back(text.data());
  }
  all.push_back(nullptr);
  return all;
}

pid_t spawn(std::vector<std::string> argv, const std::map<std::string, std::string>& environment,
            const std::string& directory, int output) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) {
    entries.push_back(name + "=" + value);
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(&files, directory.c_str());
  pid_t child = -1;
  const int problem = ::posix_spawn(&child, argv[0].c_str(), &files, nullptr, pointers(argv).data(),
                                    pointers(entries).data());
  posix_spawn_file_actions_destroy(&files);
  if (problem != 0) {
    throw std::runtime_error("cannot start " + argv[0]);
  }
  return child;
}

int exit_value(int raw) {
  constexpr int by_signal = 128;
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : by_signal + WTERMSIG(raw);
}

} // namespace

server_process::server_process(server_options how) : how_(std::move(how)) {
  start();
}

server_process::~server_process() {
  kill();
}

void server_process::launch() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make a pipe");
  }
  std::map<std::string, std::string> environment{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                                 {"HOME", path("home")},
                                                 {"HOST", "127.0.0.1"},
                                                 {"PORT", "0"},
                                                 {"WORKSPACE_ROOT", path("workspaces")},
                                                 {"SETTINGS_PATH", path("settings.json")},
                                                 {"TIDEMARK_DATA_DIR", path("data")},
                                                 {"TIDEMARK_AGENT", "demo"}};
  if (!how_.token.empty()) {
    environment["INTERNAL_API_TOKEN"] = how_.token;
  }
  // A sanitizer's options decide whether a leak fails the test.
  for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) {
      environment[name] = value;
    }
  }
#ifdef __SANITIZE_ADDRESS__
  // Some tests load a library before the sanitizer's own, which does it no harm.
  environment["ASAN_OPTIONS"] += ":verify_asan_link_order=0";
  environment["TIDEMARK_SERVER_CORE_DUMPS"] = "true"; // the search for leaks looks into the process
#endif
  for (const auto& [name, value] : how_.environment) {
    environment[name] = value;
  }
  std::filesystem::create_directories(path("home"));
  std::vector<std::string> argv = how_.wrapper;
  if (how_.user != 0) {
    const auto id = std::to_string(how_.user);
    argv.insert(argv.end(),
                {"/usr/bin/setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups"});
    for (const auto& each : {directory_.path(), path("home")}) {
      (void) !::chown(each.c_str(), how_.user, how_.user);
    }
  }
  argv.insert(argv.end(), {program("tidemark"), "serve"});
  argv.insert(argv.end(), how_.arguments.begin(), how_.arguments.end());
  pid_ = spawn(argv, environment, directory_.path(), ends[1]);
  ::close(ends[1]);
  if (reader_.joinable()) {
    reader_.join();
  }
  reader_ = std::thread([this, from = ends[0]] { read_output(from); });
}

void server_process::start() {
  const std::size_t before = output().size();
  launch();
  const auto ready = [&] { return !listening_url(before).empty() || !process_alive(pid_); };
  poll_until(ready, start_limit);
  url_ = listening_url(before);
  if (url_.empty()) {
    kill(); // and all that it had to say is in
    throw std::runtime_error("the server does not listen; it printed:\n" + output());
  }
}

void server_process::read_output(int from) {
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    const std::lock_guard lock(mutex_);
    output_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(from);
}

std::string server_process::listening_url(std::size_t from) const {
  const std::lock_guard lock(mutex_);
  const std::string mark = "listening on http://";
  const auto found = output_.find(mark, from);
  const auto end =
    output_.find_first_of(" \r\n", found == std::string::npos ? found : found + mark.size());
  if (found == std::string::npos || end == std::string::npos) {
    return {};
  }
  const auto start = found + mark.size() - std::string("http://").size();
  return output_.substr(start, end - start);
}

std::string server_process::output() const {
  const std::lock_guard lock(mutex_);
  return output_;
}

void server_process::kill() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait_for_exit(start_limit);
  }
  if (reader_.joinable()) {
    reader_.join();
  }
}

int server_process::terminate(milliseconds limit) {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
  }
  return wait_for_exit(limit);
}

int server_process::wait_for_exit(milliseconds limit) {
  int raw = 0;
  const auto gone = [&] { return pid_ <= 0 || ::waitpid(pid_, &raw, WNOHANG) == pid_; };
  if (!poll_until(gone, limit)) {
    return -1;
  }
  pid_ = -1;
  return exit_value(raw);
}

bool process_alive(pid_t pid) {
  if (pid <= 0 || ::kill(pid, 0) != 0) {
    return false;
  }
  const std::string status = read_file("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = status.rfind(')');
  return name_end != std::string::npos && status.compare(name_end, 3, ") Z") != 0;
}

std::vector<pid_t> processes_with_environment(const std::string& text) {
  std::vector<pid_t> found;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", problem)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && read_file(entry.path() / "environ").find(text) != std::string::npos) {
      found.push_back(pid);
    }
  }
  return found;
}

std::string program(const std::string& name) {
  const char* elsewhere = std::getenv("TIDEMARK_TEST_BIN");
  return std::string(elsewhere != nullptr ? elsewhere : TIDEMARK_TEST_BIN_DIR) + "/" + name;
}

} // namespace tidemark::test
