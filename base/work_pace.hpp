#pragma once

#include <chrono>

namespace tidemark {

/// How long work that must slow nobody rests after each stretch, so that those who write never notice it.
///
/// A low priority alone does not do that: a thread that gets a tenth of a processor still takes memory
/// bandwidth, caches and the disk from a writer that uses all it gets (docs/decisions/037). So the work
/// takes what the writer leaves: all of its thread's time while the log rests, less the busier the log is,
/// and `least_share` once the log is busy half of the time.
///
/// Pure: told of times, tells of times. Not thread-safe.
class work_pace {
public:
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::steady_clock::time_point;

  /// Of the time, for work beside a log that does nothing but write.
  static constexpr double least_share = 0.02;
  /// A log that writes less than this is at rest.
  static constexpr double resting_load = 0.02;
  /// How far back the load is remembered: some commits of a busy log.
  static constexpr duration memory = std::chrono::milliseconds{200};
  /// However long a stretch took: whoever waits for the work wants to hear something.
  static constexpr duration longest_rest = std::chrono::milliseconds{500};

  /// `written` as in `rest_after`.
  work_pace(time_point now, duration written) : seen_(now), written_(written) {}

  /// The rest that is due after a stretch of work that began at `began` and ended `now`. `written` is the
  /// time that the log has spent on commits up to now, ever.
  [[nodiscard]] duration rest_after(time_point began, time_point now, duration written);

  /// The part of the time that the log wrote, lately; 0 to 1.
  [[nodiscard]] double load() const { return load_; }

private:
  void learn(time_point now, duration written);

  time_point seen_;
  duration written_;
  double load_ = 0;
};

} // namespace tidemark
