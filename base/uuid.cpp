#include "base/uuid.hpp"

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <mutex>

#include <fmt/format.h>

namespace tidemark {

namespace {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  // getrandom of 8 bytes cannot be interrupted or short once the pool is up (getrandom(2)).
  (void) ::getrandom(&bits, sizeof bits, 0);
  return bits;
}

} // namespace

std::string new_uuid(timestamp now) {
  // The last id's milliseconds and 12-bit counter; guarded by the mutex, the only shared state here.
  static std::mutex mutex;
  static std::uint64_t last_millis = 0;
  static std::uint32_t counter = 0;

  std::uint64_t millis = 0;
  std::uint32_t sequence = 0;
  {
    const std::lock_guard lock{mutex};
    const auto wall = static_cast<std::uint64_t>(now.nanoseconds / 1'000'000);
    if (wall > last_millis) {
      last_millis = wall;
      counter = 0;
    } else if (++counter > 0xfff) {
      ++last_millis;
      counter = 0;
    }
    millis = last_millis;
    sequence = counter;
  }
  const auto tail = (random_bits() & 0x3fff'ffff'ffff'ffffULL) | 0x8000'0000'0000'0000ULL;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", (millis >> 16) & 0xffff'ffffU,
                     millis & 0xffff, 0x7000U | sequence, tail >> 48, tail & 0xffff'ffff'ffffULL);
}

} // namespace tidemark
