#include "replay/subscription.hpp"

#include "storage/memory_log.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <random>

using namespace tidemark;

namespace {

/// Log and hub as the log writer uses them: commit, then publish.
class world {
public:
  explicit world(hub::limits bounds = {}) : events(bounds), stream(log->acquire("w").value()) {}

  void append(std::size_t count, bool last = false) {
    append_request request;
    request.stream = stream.id;
    request.incarnation = stream.incarnation;
    request.expected = head;
    request.ends_stream = last;
    for (std::size_t i = 0; i < count; ++i)
      request.events.push_back(new_event{"t", "", timestamp{1}, "{}"});
    const auto result = log->commit({&request, 1}).front().value();
    head = result.last;
    committed_from = result.first;
    committed_position = result.first_global;
  }

  void publish(bool last = false) {
    std::vector<event_ptr> fresh;
    for (auto at = committed_from; at <= head; at = at.next()) {
      event e;
      e.workspace = "w";
      e.stream = stream.id;
      e.incarnation = stream.incarnation;
      e.at = at;
      e.type = "t";
      e.data = "{}";
      fresh.push_back(std::make_shared<const event>(std::move(e)));
    }
    const std::vector<stream_id> ended{stream.id};
    events.publish(fresh, last ? std::span{ended} : std::span<const stream_id>{});
  }

  std::unique_ptr<event_log> log = make_memory_log();
  hub events;
  stream_info stream;
  offset head;
  offset committed_from;
  position committed_position;
};

/// Reads until the subscription sleeps; checks that offsets are dense.
void drain(subscription& reader, offset& have, std::size_t max_bytes) {
  std::vector<hot_event_ptr> out;
  for (;;) {
    const auto state = reader.poll(max_bytes, out);
    if (state == subscription::state::idle || state == subscription::state::ended)
      return;
    if (state == subscription::state::behind)
      REQUIRE(reader.read_log(max_bytes, out).has_value());
    for (const auto& e : out) {
      REQUIRE(e->what->at == have.next());
      have = e->what->at;
    }
  }
}

} // namespace

SCENARIO("a reader that left at offset N gets N+1, N+2 … each once, whatever happened between") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random{seed};
  for (int round = 0; round < 60; ++round) {
    // A tiny tail, so that readers keep falling behind it.
    world w{hub::limits{2048, 4096}};
    auto woken = std::make_shared<int>(0);
    offset have;
    auto reader =
      std::make_unique<subscription>(*w.log, w.events, w.stream, have, [woken] { ++*woken; });
    bool unpublished = false;
    for (int step = 0; step < 80; ++step) {
      switch (random() % 5) {
      case 0:
      case 1:
        if (unpublished)
          w.publish();
        w.append(1 + random() % 12);
        unpublished = true;
        break;
      case 2:
        if (unpublished)
          w.publish();
        unpublished = false;
        break;
      case 3: drain(*reader, have, 1 + random() % 2000); break;
      default:
        // Reconnect with the offset it had.
        reader.reset();
        auto info = w.log->find("w");
        reader = std::make_unique<subscription>(*w.log, w.events, info ? *info : w.stream, have,
                                                [woken] { ++*woken; });
      }
    }
    if (unpublished)
      w.publish();
    drain(*reader, have, 4096);
    CHECK(have == w.head);
  }
}

SCENARIO("no wake-up is lost between the last read and sleeping") {
  world w;
  auto woken = std::make_shared<int>(0);
  subscription reader{*w.log, w.events, w.stream, offset{}, [woken] { ++*woken; }};
  offset have;
  drain(reader, have, 4096);
  // Durable but not yet published: the reader may see it early, never twice.
  w.append(3);
  drain(reader, have, 4096);
  w.publish();
  CHECK(*woken == 1);
  drain(reader, have, 4096);
  CHECK(have == offset{3});
}

SCENARIO("a stream that ended says so once everything was delivered") {
  world w;
  subscription reader{*w.log, w.events, w.stream, offset{}, [] {}};
  w.append(2, true);
  w.publish(true);
  std::vector<hot_event_ptr> out;
  CHECK(reader.poll(1 << 20, out) == subscription::state::ready);
  CHECK(out.size() == 2);
  CHECK(reader.poll(1 << 20, out) == subscription::state::ended);
}
