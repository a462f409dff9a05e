#include "agents/demo_command.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tidemark {
namespace {

struct plumbing {
  int out = -1; // becomes stdout and stderr; -1: inherited
  bool own_session = true;
};

pid_t spawn_shell(const std::string& command, plumbing how) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (how.out >= 0) {
    posix_spawn_file_actions_adddup2(&files, how.out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, how.out, STDERR_FILENO);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, how.own_session ? POSIX_SPAWN_SETSID : 0);
  std::string shell = "/bin/sh";
  std::string option = "-c";
  std::string text = command;
  std::array<char*, 4> argv{shell.data(), option.data(), text.data(), nullptr};
  pid_t child = -1;
  if (::posix_spawn(&child, shell.c_str(), &files, &attributes, argv.data(), environ) != 0) {
    child = -1;
  }
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return child;
}

void drain(int from, std::string& output) {
  std::array<char, 16 << 10> buffer{};
  for (ssize_t got = 1; got > 0;) {
    got = ::read(from, buffer.data(), buffer.size());
    output.append(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  }
}

// Reads until the shell has ended: something that it left behind may hold the pipe for ever.
// True if the interrupt came first.
bool collect(int from, pid_t shell, int interrupt_descriptor, std::string& output) {
  const int ended = static_cast<int>(::syscall(SYS_pidfd_open, shell, 0));
  std::array<pollfd, 3> watched{
    {{from, POLLIN, 0}, {interrupt_descriptor, POLLIN, 0}, {ended, POLLIN, 0}}};
  bool interrupted = false;
  while (!interrupted && watched[2].revents == 0) {
    if (::poll(watched.data(), watched.size(), -1) > 0) {
      drain(from, output);
      interrupted = watched[1].revents != 0;
      if ((watched[0].revents & POLLHUP) != 0) {
        watched[0].fd = -1;
      }
    }
  }
  drain(from, output);
  ::close(ended);
  return interrupted;
}

int status_of(int raw) {
  constexpr int by_signal = 128;
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : by_signal + WTERMSIG(raw);
}

} // namespace

demo_command_result run_demo_command(const std::string& command, int interrupt_descriptor) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0 || ::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    return {"cannot make a pipe", 1, false};
  }
  const pid_t child = spawn_shell(command, {ends[1], true});
  ::close(ends[1]);
  demo_command_result done;
  if (child < 0) {
    ::close(ends[0]);
    return {"cannot start /bin/sh", 1, false};
  }
  done.interrupted = collect(ends[0], child, interrupt_descriptor, done.output);
  ::close(ends[0]);
  if (done.interrupted) {
    ::kill(-child, SIGKILL);
  }
  int raw = 0;
  while (::waitpid(child, &raw, 0) < 0 && errno == EINTR) {}
  done.status = status_of(raw);
  if (done.output.ends_with('\n')) {
    done.output.pop_back();
  }
  return done;
}

std::vector<int> leave_orphans(long seconds) {
  const std::string sleep = "sleep " + std::to_string(seconds);
  std::vector<int> pids;
  pids.push_back(spawn_shell("exec " + sleep, {-1, false}));
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  pids.push_back(spawn_shell("exec " + sleep, {nowhere, true}));
  ::close(nowhere);
  const demo_command_result lost =
    run_demo_command("setsid " + sleep + " >/dev/null 2>&1 & echo $!", -1);
  pids.push_back(std::atoi(lost.output.c_str()));
  return pids;
}

} // namespace tidemark
