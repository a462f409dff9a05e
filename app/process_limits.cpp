#include "app/process_limits.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace tidemark {

std::uint64_t raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return 0;
  const auto before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

void keep_memory_private() {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

std::uint64_t needed_open_files(std::uint64_t connections, std::uint64_t agents) {
  return connections + 4 * agents + 512 + 64;
}

} // namespace tidemark
