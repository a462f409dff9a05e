#include "tests/support/model_stand_in.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tidemark::test {
namespace {

std::string read_line(int from) {
  std::string line;
  for (char c = 0; ::read(from, &c, 1) == 1 && c != '\n';) {
    line += c;
  }
  return line;
}

} // namespace

model_stand_in::model_stand_in(const std::string& script) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make a pipe");
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  std::string node = "node";
  std::string path = script;
  std::array<char*, 3> argv{node.data(), path.data(), nullptr};
  const int problem = ::posix_spawnp(&pid_, "node", &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  port_ = problem == 0 ? read_line(ends[0]) : "";
  ::close(ends[0]);
  if (port_.empty()) {
    throw std::runtime_error("cannot run " + script + " with node");
  }
}

model_stand_in::~model_stand_in() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

} // namespace tidemark::test
