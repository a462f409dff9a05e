#pragma once

#include <cstdint>

namespace tidemark {

/// What the operating system says about this process; read from /proc at each scrape.
struct process_figures {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t open_descriptors = 0;
  std::uint64_t max_descriptors = 0;
};
process_figures read_process_figures();

/// When this process started, in seconds since 1970-01-01T00:00:00Z.
double process_start_seconds();

} // namespace tidemark
