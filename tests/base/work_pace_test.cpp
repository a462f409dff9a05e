#include "base/work_pace.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace std::chrono_literals;

namespace {

/// Work in stretches of 3 ms beside a log that writes `load` of the time, for `time`.
struct played_work {
  work_pace pace{{}, {}};
  work_pace::time_point now{};
  work_pace::duration written{};
  work_pace::duration worked{};

  void go_on(double load, work_pace::duration time) {
    const auto pass = [&](work_pace::duration by) {
      now += by;
      written += std::chrono::duration_cast<work_pace::duration>(by * load);
    };
    for (const auto until = now + time; now < until;) {
      const auto began = now;
      pass(3ms);
      worked += 3ms;
      pass(pace.rest_after(began, now, written));
    }
  }

  /// The part of `time` that was work, once the pace has seen the load.
  double share(double load, work_pace::duration time = 20s) {
    go_on(load, 2s);
    worked = {};
    const auto from = now;
    go_on(load, time);
    return std::chrono::duration<double>{worked} / std::chrono::duration<double>{now - from};
  }
};

} // namespace

SCENARIO("work beside a log at rest never rests") {
  CHECK(played_work{}.share(0) == 1);
  CHECK(played_work{}.share(0.01) == 1);
}

SCENARIO("work takes what the writer of a log leaves, and little of a busy one") {
  CHECK(played_work{}.share(0.25) == Approx(0.5).epsilon(0.05));
  CHECK(played_work{}.share(0.5) < 0.025);
  CHECK(played_work{}.share(1) < 0.025);
  CHECK(played_work{}.share(1) > 0.015);
}

SCENARIO("the pace follows the log") {
  played_work work;
  CHECK(work.share(1) < 0.025);
  CHECK(work.share(0) > 0.99);
  CHECK(work.share(1) < 0.025);
}

SCENARIO("no rest is so long that whoever waits for the work hears nothing") {
  work_pace pace{{}, {}};
  const auto hour = work_pace::time_point{} + 1h;
  CHECK(pace.rest_after({}, hour, 1h) == work_pace::longest_rest);
}

SCENARIO("a pace believes no clock that stands or runs back") {
  work_pace pace{work_pace::time_point{} + 1s, 1s};
  CHECK(pace.rest_after(work_pace::time_point{} + 1s, work_pace::time_point{} + 1s, 2s) == 0s);
  CHECK(pace.rest_after(work_pace::time_point{} + 2s, work_pace::time_point{} + 1s, 2s) == 0s);
  CHECK(pace.load() == 0);
  CHECK(pace.rest_after(work_pace::time_point{} + 1s, work_pace::time_point{} + 3s, 0s) == 0s);
}
