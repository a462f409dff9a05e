#include "process/spawn.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tidemark {
namespace {

/// Of the guard's first line: far above what a loaded machine needs to execute two programs.
constexpr int start_limit_ms = 10'000;
constexpr int guard_control = 3;

std::string reason(int number) {
  return std::strerror(number);
}

struct channel {
  owned_fd ours;
  owned_fd theirs;
};

/// Descriptors 0 to 3 are the targets of dup2 in the child: a source among them would be overwritten
/// before its turn, so ours start above.
owned_fd lifted(int fd) {
  owned_fd original{fd};
  if (fd > guard_control)
    return original;
  return owned_fd{::fcntl(fd, F_DUPFD_CLOEXEC, guard_control + 1)};
}

expected<channel> make_pipe(bool child_reads) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(errc::io, "cannot make a pipe: " + reason(errno));
  channel made{lifted(ends[child_reads ? 1 : 0]), lifted(ends[child_reads ? 0 : 1])};
  if (made.ours.get() < 0 || made.theirs.get() < 0)
    return fail(errc::io, "cannot make a pipe: " + reason(errno));
  ::fcntl(made.ours.get(), F_SETFL, O_NONBLOCK);
  return made;
}

expected<channel> make_control() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(errc::io, "cannot make a socket pair: " + reason(errno));
  return channel{lifted(ends[0]), lifted(ends[1])};
}

struct standard_streams {
  channel in;
  channel out;
  channel err;
};

expected<standard_streams> make_pipes() {
  auto in = make_pipe(true);
  auto out = make_pipe(false);
  auto err = make_pipe(false);
  for (const auto* made : {&in, &out, &err})
    if (!*made)
      return tl::make_unexpected(made->error());
  return standard_streams{std::move(*in), std::move(*out), std::move(*err)};
}

owned_fd duplicate(const owned_fd& fd) {
  return owned_fd{::fcntl(fd.get(), F_DUPFD_CLOEXEC, guard_control + 1)};
}

/// One terminal in the place of three pipes. Our end twice: it is read and written independently.
expected<standard_streams> make_terminal(terminal_size size) {
  const auto opened = open_terminal(size);
  if (!opened)
    return tl::make_unexpected(opened.error());
  standard_streams made;
  made.out.ours = lifted(opened->ours);
  made.out.theirs = lifted(opened->theirs);
  made.in.ours = duplicate(made.out.ours);
  made.in.theirs = duplicate(made.out.theirs);
  made.err.theirs = duplicate(made.out.theirs);
  for (const auto* fd :
       {&made.out.ours, &made.out.theirs, &made.in.ours, &made.in.theirs, &made.err.theirs})
    if (fd->get() < 0)
      return fail(errc::io, "cannot open a terminal: " + reason(errno));
  return made;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> guard_arguments(const child_options& options) {
  std::vector<std::string> argv{options.guard};
  if (!options.cwd.empty()) {
    argv.push_back("--cwd");
    argv.push_back(options.cwd);
  }
  if (options.terminal)
    argv.push_back("--tty");
  argv.push_back("--");
  argv.insert(argv.end(), options.argv.begin(), options.argv.end());
  return argv;
}

/// The parts of posix_spawn that must be freed.
struct spawn_recipe {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  spawn_recipe() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK
                                              | POSIX_SPAWN_SETSIGDEF);
  }
  spawn_recipe(const spawn_recipe&) = delete;
  spawn_recipe& operator=(const spawn_recipe&) = delete;
  ~spawn_recipe() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  void place(const owned_fd& fd, int at) {
    ::posix_spawn_file_actions_adddup2(&actions, fd.get(), at); // dup2 clears close-on-exec
  }
};

/// The guard's first line, or empty if it ended without one.
std::string first_line(int control) {
  std::string line;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds{start_limit_ms};
  while (line.find('\n') == std::string::npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      limit - std::chrono::steady_clock::now());
    pollfd ready{control, POLLIN, 0};
    if (left.count() <= 0)
      return {};
    if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0)
      continue;
    char text[64];
    const ssize_t size = ::recv(control, text, sizeof text, MSG_DONTWAIT);
    if (size > 0)
      line.append(text, static_cast<std::size_t>(size));
    else if (size == 0 || (errno != EAGAIN && errno != EINTR))
      return {};
  }
  return line;
}

tl::unexpected<error> explain(const child_options& options, std::string_view stage, int number) {
  const bool missing = number == ENOENT || number == ENOTDIR;
  if (stage == "cwd")
    return fail(missing ? errc::not_found : errc::io,
                "working directory \"" + options.cwd + "\": " + reason(number));
  if (stage != "exec")
    return fail(errc::io, "cannot start a process: " + reason(number));
  const auto& name = options.argv.front();
  const auto path = options.environment.find("PATH");
  std::string text = "executable \"" + name + "\": " + reason(number);
  if (missing && name.find('/') == std::string::npos)
    text +=
      " in PATH " + (path == options.environment.end() ? std::string{"(unset)"} : path->second);
  return fail(missing || number == EACCES ? errc::not_found : errc::io, std::move(text));
}

/// Runs the guard with the child's ends of the four channels.
expected<int> execute_guard(const child_options& options, spawn_recipe& recipe) {
  auto arguments = guard_arguments(options);
  std::vector<std::string> variables;
  for (const auto& [name, value] : options.environment)
    variables.push_back(name + "=" + value);
  auto argv = pointers(arguments);
  auto environment = pointers(variables);
  pid_t pid = 0;
  const int rc = ::posix_spawn(&pid, options.guard.c_str(), &recipe.actions, &recipe.attributes,
                               argv.data(), environment.data());
  if (rc == 0)
    return pid;
  return fail(rc == ENOENT ? errc::not_found : errc::io,
              "guard \"" + options.guard + "\": " + reason(rc));
}

} // namespace

void owned_fd::reset(int fd) {
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = fd;
}

void reap_guard(int guard_pid, int guard_pidfd, int limit_ms) {
  pollfd ended{guard_pidfd, POLLIN, 0};
  while (::poll(&ended, 1, limit_ms) < 0 && errno == EINTR) {}
  if (!ended.revents)
    ::kill(guard_pid, SIGKILL);
  while (::waitpid(guard_pid, nullptr, 0) < 0 && errno == EINTR) {}
}

expected<spawned> spawn_guarded(const child_options& options) {
  if (options.argv.empty())
    return fail(errc::invalid_argument, "no program to run");
  auto streams = options.terminal ? make_terminal(*options.terminal) : make_pipes();
  if (!streams)
    return tl::make_unexpected(streams.error());
  auto control = make_control();
  if (!control)
    return tl::make_unexpected(control.error());
  auto& [in, out, err] = *streams;

  spawn_recipe recipe;
  recipe.place(in.theirs, 0);
  recipe.place(out.theirs, 1);
  recipe.place(err.theirs, 2);
  recipe.place(control->theirs, guard_control);
  ::posix_spawn_file_actions_addclosefrom_np(&recipe.actions, guard_control + 1);
  const auto pid = execute_guard(options, recipe);
  if (!pid)
    return tl::make_unexpected(pid.error());
  for (auto* made : {&in, &out, &err, &*control})
    made->theirs.reset(); // so that the channels end when the child's side is gone

  spawned child;
  child.guard_pid = *pid;
  // No race: the guard stays a zombie until we wait for it.
  child.guard.reset(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  const auto line = first_line(control->ours.get());
  const auto space = line.find(' ');
  const int number = space == std::string::npos ? 0 : std::atoi(line.c_str() + space + 1);
  if (child.guard.get() < 0 || line.compare(0, 4, "pid ") != 0) {
    control->ours.reset(); // its lifeline: it kills what there is and ends
    reap_guard(*pid, child.guard.get(), start_limit_ms);
    if (space == std::string::npos)
      return fail(errc::io, "the guard \"" + options.guard + "\" did not start the process");
    return explain(options, std::string_view{line}.substr(0, space), number);
  }
  child.agent_pid = number;
  child.control = std::move(control->ours);
  child.standard_input = std::move(in.ours);
  child.standard_output = std::move(out.ours);
  child.standard_error = std::move(err.ours);
  return child;
}

} // namespace tidemark
