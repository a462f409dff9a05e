// tidemark-guard [--cwd DIR] [--tty] -- argv…
//
// Stands between the server and one agent, so that nothing the agent starts outlives it:
//   - it is the reaper of all descendants, also of those that left the session or lost their parent;
//   - it kills them all when the agent ends, when it is told to, and when the server dies;
//   - it ends as the agent did: same exit code, or same signal.
// With --tty the agent is a shell: descriptor 0 is a terminal that becomes its controlling one.
//
// Descriptor 3 is a stream socket to the server. The guard says one line on it: `pid N` when the
// agent runs, `cwd ERRNO`, `tty ERRNO` or `exec ERRNO` when it cannot be started, `fork ERRNO` if there is no
// room for it; and `end 0` when nothing is left, so that a guard that was killed is told from one that
// did its work. Each byte that the server says is an order: 1 to 64 sends that signal to the agent
// alone, 'K' kills the whole tree. End of file means that the server is gone: kills the tree too.
// (A death signal would also fire when merely the server's thread ends.)
//
// Plain system calls: no library of ours, so that it starts in a millisecond.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int server = 3;
constexpr int cannot_start = 127;
constexpr unsigned char kill_order = 'K';
/// A process that the kernel cannot end yet (blocked in a device) must not hold the guard for ever;
/// its SIGKILL stays pending.
constexpr long kill_limit_ms = 10'000;

struct launch {
  const char* cwd = nullptr;
  bool terminal = false;
  char** argv = nullptr;
};

/// Why the agent could not be started, from the forked process to the guard.
struct start_failure {
  char stage[8] = {};
  int number = 0;
};

long now_ms() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1'000'000;
}

void say(const char* what, int number) {
  char line[32];
  const int size = std::snprintf(line, sizeof line, "%s %d\n", what, number);
  (void) ::send(server, line, static_cast<std::size_t>(size), MSG_NOSIGNAL);
}

/// Not through a link, which an agent can put in the place of its directory at any moment.
bool enter(const char* directory) {
  const int at = ::open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return at >= 0 && ::fchdir(at) == 0;
}

[[noreturn]] void run_agent(const launch& what, pid_t guard, int report) {
  const auto give_up = [report](const char* stage) {
    start_failure why;
    why.number = errno;
    std::strncpy(why.stage, stage, sizeof why.stage - 1);
    (void) !::write(report, &why, sizeof why);
    ::_exit(cannot_start);
  };
  // A session of its own: no terminal to open but its own, and `kill 0` does not reach the guard.
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard)
    ::_exit(cannot_start); // the guard died before the line above
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Without it ^C and changes of size reach nobody, and there is no /dev/tty.
  if (what.terminal && ::ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0)
    give_up("tty");
  if (what.cwd && !enter(what.cwd))
    give_up("cwd");
  ::execvp(what.argv[0], what.argv);
  give_up("exec");
  ::_exit(cannot_start);
}

/// The agent's pid, or 0 after it has told the server why there is none.
pid_t start_agent(const launch& what) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) {
    say("fork", errno);
    return 0;
  }
  const pid_t guard = ::getpid();
  const pid_t agent = ::fork();
  if (agent == 0)
    run_agent(what, guard, pipe[1]);
  if (agent < 0) {
    say("fork", errno);
    return 0;
  }
  ::close(pipe[1]);
  start_failure why;
  ssize_t got = 0;
  do
    got = ::read(pipe[0], &why, sizeof why); // end of file: the exec closed the other end
  while (got < 0 && errno == EINTR);
  ::close(pipe[0]);
  if (got == static_cast<ssize_t>(sizeof why)) {
    ::waitpid(agent, nullptr, 0);
    say(why.stage, why.number);
    return 0;
  }
  say("pid", agent);
  return agent;
}

/// The agent's pipes must reach end of file when the agent closes them.
void let_go_of_standard_streams() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd)
    if (null < 0 || ::dup2(null, fd) < 0)
      ::close(fd);
  if (null > 2)
    ::close(null);
}

/// Pid and parent of every process, as /proc has it at this moment, and which of them descend from us.
struct process_list {
  static constexpr std::size_t most = 65'536;
  pid_t pids[most];
  pid_t parents[most];
  pid_t ours[most];
  std::size_t count = 0;
  std::size_t our_count = 0;
};
process_list processes; // static: no allocation while cleaning up

pid_t parent_of(const char* pid) {
  char path[280];
  std::snprintf(path, sizeof path, "/proc/%s/stat", pid);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return -1;
  char text[512];
  const ssize_t size = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (size <= 0)
    return -1;
  text[size] = '\0';
  const char* after_name = std::strrchr(text, ')'); // the name may hold anything
  int parent = -1;
  if (!after_name || std::sscanf(after_name + 1, " %*c %d", &parent) != 1)
    return -1;
  return parent;
}

void list_processes() {
  processes.count = 0;
  DIR* directory = ::opendir("/proc");
  if (!directory)
    return;
  while (const dirent* item = ::readdir(directory)) {
    if (item->d_name[0] < '1' || item->d_name[0] > '9' || processes.count == process_list::most)
      continue;
    const pid_t parent = parent_of(item->d_name);
    if (parent < 0)
      continue;
    processes.pids[processes.count] = std::atoi(item->d_name);
    processes.parents[processes.count++] = parent;
  }
  ::closedir(directory);
}

void add_children_of(pid_t parent) {
  for (std::size_t i = 0; i < processes.count; ++i)
    if (processes.parents[i] == parent && processes.our_count < process_list::most)
      processes.ours[processes.our_count++] = processes.pids[i];
}

void find_descendants() {
  list_processes();
  processes.our_count = 0;
  add_children_of(::getpid());
  for (std::size_t i = 0; i < processes.our_count; ++i)
    add_children_of(processes.ours[i]);
}

struct agent_state {
  pid_t pid = 0;
  int status = 0;
  bool ended = false;
};

/// Collects everything that has ended. False if there is no child left at all.
bool reap(agent_state& agent) {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid == 0)
      return true;
    if (pid < 0 && errno == EINTR)
      continue;
    if (pid < 0)
      return false;
    if (pid == agent.pid) {
      agent.status = status;
      agent.ended = true;
    }
  }
}

/// Every descendant is, or becomes by its parent's death, a child of ours: "no child left" is the
/// proof that all are gone. A killed process cannot fork any more, so the rounds come to an end.
void kill_all(agent_state& agent) {
  const long limit = now_ms() + kill_limit_ms;
  while (reap(agent) && now_ms() < limit) {
    if (!agent.ended)
      ::kill(agent.pid, SIGKILL);
    find_descendants();
    for (std::size_t i = 0; i < processes.our_count; ++i)
      ::kill(processes.ours[i], SIGKILL);
    ::poll(nullptr, 0, 1);
  }
}

/// Obeys what the server said. False if everything is to end.
bool obey_server(agent_state& agent) {
  unsigned char orders[64];
  const ssize_t size = ::recv(server, orders, sizeof orders, MSG_DONTWAIT);
  if (size == 0)
    return false;
  if (size < 0)
    return errno == EAGAIN || errno == EINTR;
  for (ssize_t i = 0; i < size; ++i) {
    if (orders[i] == kill_order)
      return false;
    if (!agent.ended && orders[i] >= 1 && orders[i] <= 64)
      ::kill(agent.pid, orders[i]);
  }
  return true;
}

/// Until the agent has ended or everything is to end.
void watch(agent_state& agent, int signals) {
  pollfd watched[2] = {{signals, POLLIN, 0}, {server, POLLIN, 0}};
  for (;;) {
    if (::poll(watched, 2, -1) < 0)
      continue;
    if (watched[0].revents) {
      signalfd_siginfo info{};
      (void) !::read(signals, &info, sizeof info);
      if (info.ssi_signo != SIGCHLD)
        return;
      reap(agent);
      if (agent.ended)
        return;
    }
    if (watched[1].revents && !obey_server(agent))
      return;
  }
}

[[noreturn]] void end_like(const agent_state& agent) {
  if (agent.ended && WIFEXITED(agent.status))
    ::_exit(WEXITSTATUS(agent.status));
  const int number = agent.ended ? WTERMSIG(agent.status) : SIGKILL;
  constexpr rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(number, SIG_DFL);
  ::kill(::getpid(), number);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::_exit(128 + number);
}

bool read_arguments(int argc, char** argv, launch& out) {
  int at = 1;
  if (at + 1 < argc && std::strcmp(argv[at], "--cwd") == 0) {
    out.cwd = argv[at + 1];
    at += 2;
  }
  if (at < argc && std::strcmp(argv[at], "--tty") == 0) {
    out.terminal = true;
    ++at;
  }
  if (at + 1 >= argc || std::strcmp(argv[at], "--") != 0)
    return false;
  out.argv = argv + at + 1;
  return true;
}

} // namespace

int main(int argc, char** argv) {
  launch what;
  if (!read_arguments(argc, argv, what) || ::fcntl(server, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs(
      "usage: tidemark-guard [--cwd DIR] [--tty] -- argv… (started by tidemark, a socket as "
      "descriptor 3)\n",
      stderr);
    return 2;
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t handled;
  sigemptyset(&handled);
  sigaddset(&handled, SIGCHLD);
  sigaddset(&handled, SIGTERM);
  sigaddset(&handled, SIGINT);
  sigaddset(&handled, SIGHUP);
  ::sigprocmask(SIG_BLOCK, &handled, nullptr);
  const int signals = ::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);

  agent_state agent;
  agent.pid = start_agent(what);
  if (agent.pid == 0)
    return cannot_start;
  let_go_of_standard_streams();
  watch(agent, signals);
  kill_all(agent);
  say("end", 0);
  end_like(agent);
}
