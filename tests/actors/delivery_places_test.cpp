#include "actors/delivery_places.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace tidemark;
using namespace std::chrono_literals;

namespace {

using place_time = delivery_places::clock::time_point;

webhook_key hook_named(std::size_t number) {
  return {"w", std::to_string(number)};
}

/// Lets `count` webhooks ask and begin as far as they may; how many began.
std::size_t begin_many(delivery_places& places, std::size_t count, bool failing, place_time now,
                       std::uint64_t& delivery) {
  std::size_t begun = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (places.ask(hook_named(delivery + 1000), failing, now)) {
      places.begin(++delivery, failing, now);
      ++begun;
    } else {
      ++delivery;
    }
  return begun;
}

} // namespace

SCENARIO("webhooks that fail leave every quick place to the others, however many they are") {
  delivery_places places{4, 1s};
  const auto now = place_time{} + 1h;
  std::uint64_t delivery = 0;
  CHECK(begin_many(places, 100, true, now, delivery) == 8);
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(places.ask(hook_named(i), false, now));
    places.begin(++delivery, false, now);
  }
  CHECK_FALSE(places.ask(hook_named(5), false, now));
}

SCENARIO("a delivery that takes long leaves its quick place to who waits") {
  delivery_places places{2, 1s};
  const auto now = place_time{} + 1h;
  std::uint64_t delivery = 0;
  REQUIRE(begin_many(places, 2, false, now, delivery) == 2);
  REQUIRE_FALSE(places.ask(hook_named(1), false, now + 10ms));
  CHECK_FALSE(places.next(now + 10ms));
  REQUIRE(places.next_change());
  CHECK(*places.next_change() == now + 1s);
  CHECK(places.next(now + 1s) == hook_named(1));
  CHECK_FALSE(places.next_change());
}

SCENARIO("slow deliveries have a limit too, and then only an end makes room") {
  delivery_places places{2, 1s};
  auto now = place_time{} + 1h;
  std::uint64_t delivery = 0;
  for (std::size_t round = 0; round < 5; ++round, now += 2s)
    REQUIRE(begin_many(places, 2, false, now, delivery) == 2); // 8 slow ones, 2 quick ones
  REQUIRE_FALSE(places.ask(hook_named(1), false, now));
  CHECK_FALSE(places.next_change());
  CHECK_FALSE(places.next(now + 1h));
  places.end(1); // a slow one
  CHECK(places.next(now + 1h) == hook_named(1));
}

SCENARIO("who waits is served in the order of coming, once, and nobody overtakes") {
  delivery_places places{1, 1s};
  const auto now = place_time{} + 1h;
  REQUIRE(places.ask(hook_named(1), false, now));
  places.begin(1, false, now);
  for (const auto number : {2U, 3U, 2U})
    CHECK_FALSE(places.ask(hook_named(number), false, now));
  places.end(1);
  CHECK_FALSE(places.ask(hook_named(4), false, now));
  for (const auto number : {2U, 3U, 4U})
    CHECK(places.next(now) == hook_named(number));
  CHECK_FALSE(places.next(now));
}

SCENARIO("with one place failing webhooks are still tried") {
  delivery_places places{0, 1s};
  CHECK(places.ask(hook_named(1), true, place_time{}));
  CHECK(places.ask(hook_named(1), false, place_time{}));
}

SCENARIO("no run of deliveries holds more places than there are, or lets who waits wait for ever") {
  const auto seed = GENERATE(1U, 2U, 3U, 4U);
  INFO("seed " << seed);
  std::minstd_rand random{seed};
  constexpr std::size_t quick = 3;
  delivery_places places{quick, 1s};
  auto now = place_time{} + 1h;
  std::map<std::uint64_t, bool> running; // delivery -> failing
  std::uint64_t delivery = 0;
  const auto begin = [&](bool failing) {
    places.begin(++delivery, failing, now);
    running[delivery] = failing;
    REQUIRE(running.size() <= quick + quick * delivery_places::slow_per_quick);
  };
  for (std::size_t i = 0; i < 3000; ++i, now += std::chrono::milliseconds{random() % 400}) {
    const auto number = random() % 50;
    const auto failing = number % 2 == 0;
    if (random() % 3 != 0) {
      if (places.ask(hook_named(number), failing, now))
        begin(failing);
    } else if (!running.empty()) {
      const auto ended = std::next(running.begin(), static_cast<long>(random() % running.size()));
      places.end(ended->first);
      running.erase(ended);
    }
    while (const auto called = places.next(now))
      begin(std::stoul(called->second) % 2 == 0);
  }
  for (const auto& [number, failing] : running)
    places.end(number);
  running.clear();
  while (const auto called = places.next(now)) {
    begin(std::stoul(called->second) % 2 == 0);
    places.end(delivery);
    running.clear();
  }
  CHECK(places.ask(hook_named(99), false, now));
  CHECK(places.ask(hook_named(98), true, now));
}
