#include "app/reaper.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <csignal>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tidemark;

namespace {

/// A dead child named after the program it ran, not yet waited for.
pid_t dead_child(const char* program) {
  pid_t pid = 0;
  char* const argv[] = {const_cast<char*>(program), nullptr};
  REQUIRE(::posix_spawn(&pid, program, nullptr, nullptr, argv, environ) == 0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
  return pid;
}

} // namespace

SCENARIO("contract, Process duties: as PID 1 only children that nobody waits for are reaped") {
  const auto own = dead_child("/bin/true");
  const auto orphan = dead_child("/bin/false");
  CHECK(reap_orphans({"true"}) == 1);
  int status = 0;
  CHECK(::waitpid(orphan, &status, WNOHANG) == -1); // gone
  CHECK(::waitpid(own, &status, WNOHANG) == own);   // still there for its own waiter
  CHECK(reap_orphans({"true"}) == 0);
}
