#pragma once

#include "bench/quantile.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

namespace tidemark::bench {

using clock = std::chrono::steady_clock;

/// How long each of many equal operations took.
class latencies {
public:
  void add(clock::duration one) {
    micros_.push_back(std::chrono::duration<double, std::micro>{one}.count());
  }

  void add(const latencies& others) {
    micros_.insert(micros_.end(), others.micros_.begin(), others.micros_.end());
  }

  /// Repeats `operation` for `turn`, one after the other.
  template <class Operation>
  void repeat_for(clock::duration turn, Operation operation) {
    const auto end = clock::now() + turn;
    for (auto started = clock::now(); started < end;) {
      operation();
      const auto now = clock::now();
      add(now - started);
      started = now;
    }
  }

  [[nodiscard]] std::size_t count() const { return micros_.size(); }

  /// Time spent if they ran one after the other.
  [[nodiscard]] double seconds() const {
    double sum = 0;
    for (const auto each : micros_)
      sum += each;
    return sum / 1e6;
  }

  /// In microseconds; `part` of 0.5 is the median.
  [[nodiscard]] double percentile(double part) const { return quantile(micros_, part); }

private:
  std::vector<double> micros_;
};

} // namespace tidemark::bench
