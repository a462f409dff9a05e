#include "bench/turn_record.hpp"

#include <chrono>

namespace tidemark::bench {

std::int64_t monotonic_ns() {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

} // namespace tidemark::bench
