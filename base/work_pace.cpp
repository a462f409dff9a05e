#include "base/work_pace.hpp"

#include <algorithm>
#include <cmath>

namespace tidemark {

work_pace::duration work_pace::rest_after(time_point began, time_point now, duration written) {
  learn(now, written);
  if (load_ < resting_load)
    return {};
  const auto share = std::max(1 - 2 * load_, least_share);
  const auto worked = std::max<double>(0, static_cast<double>(duration{now - began}.count()));
  const auto rest = worked * (1 / share - 1);
  return duration{static_cast<duration::rep>(
    std::min(rest, static_cast<double>(duration{longest_rest}.count())))};
}

void work_pace::learn(time_point now, duration written) {
  const auto passed = duration{now - seen_};
  if (passed <= duration::zero())
    return;
  const auto part =
    static_cast<double>((written - written_).count()) / static_cast<double>(passed.count());
  // A commit is counted when it ends, so a short stretch may see more of them than its own time.
  const auto weight =
    1 - std::exp(-static_cast<double>(passed.count()) / static_cast<double>(memory.count()));
  load_ += (std::clamp(part, 0.0, 1.0) - load_) * weight;
  seen_ = now;
  written_ = written;
}

} // namespace tidemark
