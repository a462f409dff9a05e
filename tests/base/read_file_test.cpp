#include "base/read_file.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <sys/wait.h>
#include <unistd.h>

using namespace tidemark;

SCENARIO("a file that cannot be read is no exception") {
  CHECK(read_file("/proc/self/comm").value().find('\n') != std::string::npos);
  CHECK_FALSE(read_file("/nonexistent"));
  CHECK(errno == ENOENT);
  CHECK_FALSE(read_file("/")); // opens, and fails to read
  CHECK(errno == EISDIR);
}
