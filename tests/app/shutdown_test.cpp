#include "app/shutdown.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

using namespace tidemark;
using namespace std::chrono_literals;

namespace {

constexpr int forced_code = 7;

/// A process whose shutdown hangs, guarded by a watchdog. Returns once the watchdog stands.
pid_t start_hanging(std::chrono::milliseconds limit) {
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(20); // a watchdog that fails must not make the test hang
    take_signals();
    shutdown_watchdog watchdog{limit, forced_code, [] {}};
    watchdog.now_ending("the test");
    if (::write(ready[1], "r", 1) != 1)
      ::_exit(1);
    for (;;)
      ::pause();
  }
  char byte = 0;
  ::close(ready[1]);
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  ::close(ready[0]);
  return child;
}

int code_of(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

SCENARIO("a shutdown that hangs ends by its limit") {
  CHECK(code_of(start_hanging(50ms)) == forced_code);
}

SCENARIO("a further signal of any kind that stops the server ends a hanging shutdown at once") {
  for (const int number : {SIGTERM, SIGINT, SIGQUIT}) {
    INFO(number);
    const auto child = start_hanging(60s);
    ::kill(child, number);
    CHECK(code_of(child) == forced_code);
  }
}
