// Which workspaces' turns go so that all keep to one limit.
#include "replay/total_retention.hpp"

#include "tests/replay/written_stream.hpp"
#include "tests/support/seed.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace tidemark;
using namespace tidemark::testing;
using namespace std::chrono_literals;

namespace {

std::uint64_t bytes_up_to(const written_stream& s, offset last) {
  std::uint64_t sum = 0;
  for (const auto& e : s.events)
    if (e.at > s.outline.trimmed() && e.at <= last)
      sum += e.data.size() + e.raw->size();
  return sum;
}

std::vector<const stream_outline*> outlines_of(const std::vector<written_stream>& all) {
  std::vector<const stream_outline*> out;
  for (const auto& each : all)
    out.push_back(&each.outline);
  return out;
}

/// The removal of one workspace, if it has one.
const removal_plan* of(const total_plan& plan, std::size_t workspace) {
  const auto found =
    std::ranges::find(plan.removals, workspace, &std::pair<std::size_t, removal_plan>::first);
  return found == plan.removals.end() ? nullptr : &found->second;
}

} // namespace

SCENARIO("the turns that ended first go, of whichever workspace, until the rest fits") {
  std::vector<written_stream> all(2);
  const auto run = [&](std::size_t workspace, const char* turn) {
    const auto end = all[workspace].whole(turn);
    for (auto& each : all)
      each.now = each.now.plus(1h);
    return end;
  };
  run(0, "1");
  const auto second = run(0, "2");
  const auto third = run(1, "1");
  run(1, "2");
  run(0, "3");
  const auto sum = all[0].outline.bytes() + all[1].outline.bytes();

  const auto nothing = plan_total(outlines_of(all), sum);
  CHECK(nothing.removals.empty());
  CHECK(nothing.bytes == sum);
  CHECK(nothing.beyond == 0);

  const auto wanted = bytes_up_to(all[0], second) + 1; // the two of one workspace do not suffice
  const auto plan = plan_total(outlines_of(all), sum - wanted);
  REQUIRE(plan.removals.size() == 2);
  REQUIRE(of(plan, 0));
  CHECK(of(plan, 0)->note.to == second);
  CHECK(of(plan, 0)->note.reason == "total_bytes");
  CHECK(of(plan, 0)->note.policy == json{{"total_bytes", sum - wanted}});
  CHECK(of(plan, 0)->note.hash == all[0].events[second.value - 1].hash);
  REQUIRE(of(plan, 1));
  CHECK(of(plan, 1)->note.to == third);
  CHECK(plan.beyond == 0);
}

SCENARIO("a limit that cannot be kept is told with what stays beyond it") {
  std::vector<written_stream> all(3);
  const auto end = all[0].whole("1");
  all[0].whole("2");
  all[1].whole("1", true); // its result is not delivered
  all[1].whole("2");
  all[2].queue("1"); // not over
  const auto plan = plan_total(outlines_of(all), 1);
  REQUIRE(plan.removals.size() == 1);
  CHECK(of(plan, 0)->note.to == end);
  CHECK(plan.beyond == plan.bytes - bytes_up_to(all[0], end) - 1);
  CHECK(plan_total({}, 1).removals.empty());
}

SCENARIO(
  "whatever the workspaces hold, no more goes than is needed but for one step, and nothing that is "
  "not to go") {
  const auto seed = test::test_seed("total retention");
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 300; ++round) {
    std::vector<written_stream> all(1 + below(6));
    std::vector<std::vector<std::string>> queued(all.size());
    std::vector<std::set<std::string>> owing(all.size());
    int made = 0;
    for (int step = 0; step < 150; ++step) {
      const auto which = below(all.size());
      auto& s = all[which];
      auto& waiting = queued[which];
      for (auto& each : all)
        each.now = each.now.plus(std::chrono::minutes{below(3)});
      const auto what = below(5);
      if (what == 0 && waiting.size() < 4) {
        const auto turn = std::to_string(made++);
        const auto held = below(6) == 0;
        if (held)
          owing[which].insert(turn);
        s.queue(turn, held);
        waiting.push_back(turn);
      } else if (what <= 2 && !waiting.empty()) {
        const auto item = "i" + std::to_string(step);
        s.start_item(item, waiting.front());
        s.delta(item, waiting.front());
        s.end_item(item, waiting.front());
      } else if (what == 3 && !waiting.empty()) {
        s.end(waiting.front());
        waiting.erase(waiting.begin());
      } else if (what == 4 && below(3) == 0) {
        s.whole(std::to_string(made++));
      } else if (what == 4 && !owing[which].empty()) {
        const auto turn = *owing[which].begin();
        if (std::ranges::find(waiting, turn) == waiting.end()) {
          s.add("result.delivered", turn, {{"turn", turn}});
          owing[which].erase(turn);
        }
      }
    }
    const auto of_all = outlines_of(all);
    std::uint64_t sum = 0;
    for (const auto* each : of_all)
      sum += each->bytes();
    const auto limit = below(sum + 2);
    const auto plan = plan_total(of_all, limit);
    REQUIRE(plan.bytes == sum);

    std::uint64_t freed = 0;
    std::uint64_t largest_step = 0;
    for (const auto& [workspace, removal] : plan.removals) {
      const auto& s = all[workspace];
      const auto to = removal.note.to;
      CAPTURE(workspace, to.value);
      REQUIRE(removal.note.from == s.outline.trimmed().next());
      REQUIRE(to.value < s.events.size());
      REQUIRE(removal.note.hash == s.events[to.value - 1].hash);
      REQUIRE(removal.note.bytes == bytes_up_to(s, to));
      freed += removal.note.bytes;
      for (const auto& turn : s.outline.turns()) {
        if (turn.first > to)
          break;
        REQUIRE(turn.over);
        REQUIRE_FALSE(turn.owes_result);
        REQUIRE(&turn != &s.outline.turns().back());
      }
      // The steps that would lead there.
      trim_walk walk{s.outline};
      for (std::uint64_t before = 0; walk.next() && walk.cut_bytes() < removal.note.bytes;
           before = walk.cut_bytes()) {
        walk.take();
        largest_step = std::max(largest_step, walk.cut_bytes() - before);
      }
      REQUIRE(walk.cut_bytes() == removal.note.bytes);
    }
    const auto needed = sum > limit ? sum - limit : 0;
    if (plan.beyond == 0)
      REQUIRE(freed >= needed);
    else
      REQUIRE(freed + plan.beyond == needed);
    REQUIRE(freed <= needed + largest_step);
    if (needed == 0)
      REQUIRE(plan.removals.empty());

    // Carried out, there is nothing more to do.
    for (const auto& [workspace, removal] : plan.removals)
      all[workspace].outline.forget_events(removal.note.to);
    const auto after = plan_total(outlines_of(all), limit);
    REQUIRE(after.bytes == sum - freed);
    REQUIRE(after.beyond == plan.beyond);
  }
}
