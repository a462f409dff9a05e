// Stands between the server and an agent for bench/turn_bench_main.cpp: runs the real agent, copies
// its stdin and stdout, and notes when a prompt arrived and when a result left.
#include "bench/turn_record.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

extern char** environ; // NOLINT: handed on as it is

namespace {

using namespace tidemark::bench;

/// Copies one direction and notes the lines that hold what is looked for.
class copying {
public:
  copying(int from, int to, std::string_view mark, std::string_view kind, int record)
    : from_(from),
      to_(to),
      mark_(mark),
      kind_(kind),
      record_(record) {}

  [[nodiscard]] int source() const { return from_; }

  /// Takes what is there. False once the source or the destination has ended.
  bool step() {
    std::array<char, 64 << 10> piece{};
    const auto got = ::read(from_, piece.data(), piece.size());
    if (got <= 0)
      return got < 0 && errno == EINTR;
    const auto now = monotonic_ns();
    const std::string_view text{piece.data(), static_cast<std::size_t>(got)};
    line_ += text;
    for (auto end = line_.find('\n'); end != std::string::npos; end = line_.find('\n')) {
      note(std::string_view{line_}.substr(0, end), now);
      line_.erase(0, end + 1);
    }
    return write_all(to_, text);
  }

private:
  void note(std::string_view line, std::int64_t now) const {
    if (line.find(mark_) != std::string_view::npos)
      write_all(record_, fmt::format("{} {}\n", kind_, now));
  }

  static bool write_all(int to, std::string_view text) {
    while (!text.empty()) {
      const auto written = ::write(to, text.data(), text.size());
      if (written < 0)
        return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  int from_;
  int to_;
  std::string_view mark_;
  std::string_view kind_;
  int record_;
  std::string line_ = {};
};

struct agent {
  pid_t pid = -1;
  int input = -1;
  int output = -1;
};

agent start(const char* command, char** argv) {
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  agent started;
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0)
    return started;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, from[1], STDOUT_FILENO);
  if (::posix_spawn(&started.pid, command, &files, nullptr, argv, environ) != 0)
    started.pid = -1;
  posix_spawn_file_actions_destroy(&files);
  ::close(to[0]);
  ::close(from[1]);
  started.input = to[1];
  started.output = from[0];
  return started;
}

} // namespace

int main(int, char** argv) {
  const char* command = std::getenv(turn_record::command_variable);
  const char* file = std::getenv(turn_record::file_variable);
  if (command == nullptr || file == nullptr) {
    std::cerr << "turn_recorder: no command or no file\n";
    return 2;
  }
  const int record = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const auto real = start(command, argv);
  if (record < 0 || real.pid < 0) {
    std::cerr << "turn_recorder: cannot run " << command << "\n";
    return 2;
  }
  copying prompts{STDIN_FILENO, real.input, R"("type":"user")", turn_record::prompt, record};
  copying answers{real.output, STDOUT_FILENO, R"("type":"result")", turn_record::result, record};
  std::array<pollfd, 2> watched{{{prompts.source(), POLLIN, 0}, {answers.source(), POLLIN, 0}}};
  while (::poll(watched.data(), watched.size(), -1) >= 0 || errno == EINTR) {
    if (watched[0].revents != 0 && !prompts.step()) {
      ::close(real.input); // the agent ends by itself then
      watched[0].fd = -1;
    }
    if (watched[1].revents != 0 && !answers.step())
      break;
  }
  int raw = 0;
  ::waitpid(real.pid, &raw, 0);
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}
