#pragma once

#include "base/time.hpp"

#include <chrono>

namespace tidemark {

/// The time of one stream: UTC that never goes back and never stands still.
///
/// Between two readings it advances by what the monotonic clock advanced. So a wall clock that is put
/// back by hours neither stops it nor turns it back, and timeouts, pauses and expiries that are
/// counted on it take as long as they say. One that is put forward is followed, and the reading tells
/// by how much, so that what is to happen later can be moved along. A value without a clock of its
/// own: what the clocks show is an argument.
class stream_clock {
public:
  using monotonic = std::chrono::steady_clock::time_point;
  /// The wall clock may run ahead of the monotonic one by this much without having been put forward.
  static constexpr std::chrono::nanoseconds tolerance = std::chrono::seconds{2};

  struct reading {
    timestamp now;
    std::chrono::nanoseconds put_forward{}; ///< since the last reading; 0 if the clock was not
  };

  /// Begins at what `wall` shows, or at `earliest` if that is later: the time of a stream's last event.
  stream_clock(timestamp wall, monotonic steady, timestamp earliest = {});

  reading read(timestamp wall, monotonic steady);

private:
  timestamp last_;
  monotonic at_;
};

} // namespace tidemark
