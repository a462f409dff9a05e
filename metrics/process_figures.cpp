#include "metrics/process_figures.hpp"

#include "base/read_file.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace tidemark {

namespace {

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

std::uint64_t resident_bytes() {
  std::ifstream statm{"/proc/self/statm"};
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t open_descriptors() {
  std::error_code failed;
  const std::filesystem::directory_iterator entries{"/proc/self/fd", failed};
  if (failed)
    return 0;
  // The iterator itself holds one of them.
  return static_cast<std::uint64_t>(std::distance(begin(entries), end(entries))) - 1;
}

} // namespace

process_figures read_process_figures() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return {seconds(used.ru_utime) + seconds(used.ru_stime), resident_bytes(), open_descriptors(),
          static_cast<std::uint64_t>(limit.rlim_cur)};
}

double process_start_seconds() {
  const auto text = read_file("/proc/self/stat").value_or("");
  // proc(5): field 22 is the start in clock ticks after boot; field 2 may hold spaces, so count from
  // the last parenthesis.
  auto at = text.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field)
    at = text.find(' ', at + 1);
  if (at == std::string::npos)
    return 0;
  const auto after_boot =
    std::strtod(text.c_str() + at, nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  timespec wall{};
  timespec since_boot{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const auto boot = static_cast<double>(wall.tv_sec - since_boot.tv_sec);
  return boot + after_boot;
}

} // namespace tidemark
