#include "base/thread_priority.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <thread>

using namespace tidemark;

namespace {

int niceness_of_this_thread() {
  return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()));
}

} // namespace

SCENARIO("a thread that stands back does so alone") {
  const int before = niceness_of_this_thread();
  int lowered = 0;
  std::thread{[&] {
    lower_priority_of_this_thread();
    lowered = niceness_of_this_thread();
  }}.join();
  CHECK(lowered > before);
  CHECK(niceness_of_this_thread() == before);
}
