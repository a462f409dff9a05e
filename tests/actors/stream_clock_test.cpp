#include "actors/stream_clock.hpp"

#include "tests/actors/core_run.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::testing;
using namespace std::chrono_literals;

namespace {

constexpr timestamp noon{1'764'504'000'000'000'000};
constexpr stream_clock::monotonic start{1000s};

} // namespace

SCENARIO("a stream's time begins at the wall clock, but never before its last event") {
  CHECK(stream_clock{noon, start}.read(noon, start).now == noon);
  const auto later = noon.plus(5h);
  CHECK(stream_clock(noon, start, later).read(noon, start).now == later);
}

SCENARIO("a wall clock put back by hours neither turns back a stream's time nor stops it") {
  stream_clock clock{noon, start};
  const auto back = noon.plus(-5h);
  CHECK(clock.read(back.plus(1s), start + 1s).now == noon.plus(1s));
  const auto last = clock.read(back.plus(10min), start + 10min);
  CHECK(last.now == noon.plus(10min));
  CHECK(last.put_forward == 0ns);
}

SCENARIO("a wall clock put forward is followed, and the reading tells by how much") {
  stream_clock clock{noon, start};
  const auto read = clock.read(noon.plus(5h + 1s), start + 1s);
  CHECK(read.now == noon.plus(5h + 1s));
  CHECK(read.put_forward == 5h);
  CHECK(clock.read(noon.plus(5h + 2s), start + 2s).put_forward == 0ns);
  // And back to what it was: the stream's time goes on.
  CHECK(clock.read(noon.plus(3s), start + 3s).now == noon.plus(5h + 3s));
}

SCENARIO("a wall clock that runs a little faster is followed without a word") {
  stream_clock clock{noon, start};
  const auto read = clock.read(noon.plus(11s), start + 10s);
  CHECK(read.now == noon.plus(11s));
  CHECK(read.put_forward == 0ns);
}

SCENARIO("a clock put forward by hours ends no turn, expires no result and lengthens no pause") {
  core_run run;
  submit_turn limited;
  limited.prompt = "hello";
  limited.timeout = 60s;
  const auto kept = run.submit_held("kept");
  run.report(started(kept));
  run.clients.clear();
  run.report(ended(kept));
  REQUIRE(run.working.pending.size() == 1);
  const auto turn = run.submit(limited);
  run.report(started(turn));

  run.pass(10s);
  run.pass(5h);
  for (auto* state : {&run.working, &run.replica})
    put_forward(*state, 5h);
  run.tick();
  CHECK(run.of_type("turn.completed", turn).empty());
  CHECK(run.working.pending.size() == 1);
  run.pass(51s);
  run.tick();
  REQUIRE(run.of_type("turn.completed", turn).size() == 1);
  CHECK(int_or(run.last("turn.completed"), "duration_ms", 0) == 61'000);
  run.pass(run.rules.pending_ttl);
  run.tick();
  CHECK(run.working.pending.empty());
}
