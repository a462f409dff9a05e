#pragma once

#include "tests/support/temp_dir.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace tidemark::test {

/// How a test wants its server.
struct server_options {
  std::map<std::string, std::string> environment = {}; ///< beside the clean one; wins over it
  std::vector<std::string> arguments = {};             ///< after `serve`
  std::string token = "test-token";                    ///< empty: no authentication
  /// A command that runs the server as its last arguments: `unshare --pid --fork` …
  std::vector<std::string> wrapper = {};
  /// Runs as this user; only root can do that. 0: as the test.
  unsigned user = 0;
};

/// The real `tidemark serve`, in a directory of its own, with the demo agent, a clean environment
/// and a free port. Killed and its directory removed at the end of the test.
class server_process {
public:
  /// Starts it and waits until it listens. Throws with the server's own output if it does not.
  explicit server_process(server_options how = {});
  ~server_process();
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;

  /// SIGKILL, and waits for the process to be gone.
  void kill();
  /// SIGTERM. Returns the exit code, 128 + n if it died by signal n, -1 if it did not end in time.
  int terminate(std::chrono::milliseconds limit = std::chrono::seconds(10));
  /// Starts it again on the same directory; the port may differ.
  void start();
  /// Starts without waiting for it to listen, for servers that are meant to refuse.
  void launch();
  /// Waits for it to end by itself; like `terminate` without the signal.
  int wait_for_exit(std::chrono::milliseconds limit);

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const std::string& token() const { return how_.token; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Everything that it has printed so far, over all its lives.
  [[nodiscard]] std::string output() const;
  /// A file or directory of this server: `data`, `workspaces`, `settings.json`, `home`.
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ / name; }
  /// The working directory of a workspace's agent.
  [[nodiscard]] std::string workspace(const std::string& id) const {
    return path("workspaces/" + id);
  }
  /// Environment of the next start.
  void set_environment(const std::string& name, const std::string& value) {
    how_.environment[name] = value;
  }

private:
  void read_output(int from);
  [[nodiscard]] std::string listening_url(std::size_t from) const;

  server_options how_;
  temp_dir directory_;
  std::string url_;
  pid_t pid_ = -1;
  mutable std::mutex mutex_;
  std::string output_;
  std::thread reader_;
};

/// True while the process exists and is not a zombie.
bool process_alive(pid_t pid);

/// The pids of all living processes whose environment contains this text.
std::vector<pid_t> processes_with_environment(const std::string& text);

/// Path of a program under test: of this build, or of the directory that TIDEMARK_TEST_BIN names.
std::string program(const std::string& name);

} // namespace tidemark::test
