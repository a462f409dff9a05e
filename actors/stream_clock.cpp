#include "actors/stream_clock.hpp"

#include <algorithm>

namespace tidemark {

stream_clock::stream_clock(timestamp wall, monotonic steady, timestamp earliest)
  : last_(std::max(wall, earliest)),
    at_(steady) {}

stream_clock::reading stream_clock::read(timestamp wall, monotonic steady) {
  const auto expected = last_.plus(steady - at_);
  const std::chrono::nanoseconds ahead{wall.nanoseconds - expected.nanoseconds};
  last_ = std::max(expected, wall);
  at_ = steady;
  return {last_, ahead > tolerance ? ahead : std::chrono::nanoseconds{0}};
}

} // namespace tidemark
