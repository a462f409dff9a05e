#include "app/process_limits.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tidemark;

namespace {

constexpr uid_t nobody = 65534;

/// Whether another process of the same user, not root, can open the memory and environment of `pid`.
bool readable_by_others(pid_t pid) {
  const pid_t reader = ::fork();
  if (reader == 0) {
    if (::geteuid() == 0 && ::setuid(nobody) != 0)
      ::_exit(2);
    const auto memory = ::open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY);
    const auto environment =
      ::open(("/proc/" + std::to_string(pid) + "/environ").c_str(), O_RDONLY);
    ::_exit(memory >= 0 || environment >= 0 ? 1 : 0);
  }
  int how = 0;
  ::waitpid(reader, &how, 0);
  REQUIRE(WIFEXITED(how));
  REQUIRE(WEXITSTATUS(how) < 2);
  return WEXITSTATUS(how) == 1;
}

/// A process of that user that lives until it is destroyed.
class secretive {
public:
  explicit secretive(bool keeps_private) {
    std::array<int, 2> ready{};
    REQUIRE(::pipe(ready.data()) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (::geteuid() == 0 && ::setuid(nobody) != 0)
        ::_exit(1);
      ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); // changing the user clears it
      if (keeps_private)
        keep_memory_private();
      (void) !::write(ready[1], "x", 1);
      ::pause();
      ::_exit(0);
    }
    ::close(ready[1]);
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
  }
  ~secretive() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  secretive(const secretive&) = delete;
  secretive& operator=(const secretive&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

private:
  pid_t pid_ = -1;
};

} // namespace

SCENARIO("B77: other processes of the same user cannot read the server's memory and environment") {
  CHECK(readable_by_others(secretive{false}.pid()));
  CHECK_FALSE(readable_by_others(secretive{true}.pid()));
}
