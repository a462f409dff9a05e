#include "actors/alarm.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace {

/// Ticks that were sent for, by when they come.
struct timer {
  tidemark::alarm<int> next;
  std::multimap<int, std::uint64_t> on_its_way;

  void wake(int when) {
    if (const auto number = next.set(when))
      on_its_way.emplace(when, *number);
  }
};

} // namespace

TEST_CASE("an alarm sends for a sooner tick only, and lets pass what it has overtaken") {
  tidemark::alarm<int> next;
  const auto late = next.set(20);
  REQUIRE(late);
  CHECK_FALSE(next.set(20));
  CHECK_FALSE(next.set(30));
  const auto soon = next.set(10);
  REQUIRE(soon);
  CHECK_FALSE(next.rings(*late));
  CHECK(next.rings(*soon));
  CHECK_FALSE(next.rings(*soon));
  CHECK_FALSE(next.rings(*late));
}

TEST_CASE("ticks do not multiply, however many deadlines are looked at with each of them") {
  timer t;
  std::vector<int> deadlines; // the latest first: each one overtakes the one before
  for (int each = 20; each > 0; --each)
    deadlines.push_back(100 * each);
  for (const auto each : deadlines)
    t.wake(each);
  std::size_t looks = 0;
  std::size_t most = 0;
  while (!t.on_its_way.empty() && t.on_its_way.begin()->first < 50'000) {
    const auto [now, number] = *t.on_its_way.begin();
    t.on_its_way.erase(t.on_its_way.begin());
    if (!t.next.rings(number))
      continue;
    ++looks;
    for (auto& each : deadlines)
      if (each <= now)
        each += 2'000;
    t.wake(std::ranges::min(deadlines));
    most = std::max(most, t.on_its_way.size());
  }
  CHECK(looks == 499);
  CHECK(most <= deadlines.size());
}
