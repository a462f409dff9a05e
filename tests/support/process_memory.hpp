#pragma once

#include "tests/support/temp_dir.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/types.h>

namespace tidemark::test {

/// A figure of /proc/<pid>/status, for example `VmRSS` or `VmHWM`: kB for sizes, else a count. 0 if
/// there is none.
inline std::uint64_t status_figure(pid_t of, const std::string& name) {
  const std::string status = read_file("/proc/" + std::to_string(of) + "/status");
  const auto at = status.find("\n" + name + ":");
  return at == std::string::npos
           ? 0
           : std::strtoull(status.c_str() + at + name.size() + 2, nullptr, 10);
}

} // namespace tidemark::test
