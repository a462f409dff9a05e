#include "base/thread_priority.hpp"

#include <sys/resource.h>
#include <unistd.h>

namespace tidemark {

namespace {

/// The lowest would let a thread that holds a lock wait for its processor for too long.
constexpr int niceness = 10;

} // namespace

void lower_priority_of_this_thread() noexcept {
  // Linux takes the id of a thread here and changes that thread alone, whatever POSIX says.
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), niceness));
}

} // namespace tidemark
