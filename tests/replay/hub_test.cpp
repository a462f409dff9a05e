#include "replay/hub.hpp"
#include "replay/sse_frame.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

event_ptr event_at(std::uint64_t stream, std::uint64_t at, std::size_t bytes = 10) {
  event e;
  e.workspace = "w";
  e.stream = stream_id{stream};
  e.incarnation = epoch{1};
  e.at = offset{at};
  e.type = "t";
  e.data = "\"" + std::string(bytes, 'x') + "\"";
  return std::make_shared<const event>(std::move(e));
}

void publish(hub& h, const event_ptr& e) {
  h.publish({&e, 1});
}

} // namespace

SCENARIO("a reader is woken by its own stream only, until its registration ends") {
  hub h;
  int woken = 0;
  {
    const auto registration = h.subscribe(stream_id{1}, [&] { ++woken; });
    publish(h, event_at(2, 1));
    CHECK(woken == 0);
    publish(h, event_at(1, 1));
    CHECK(woken == 1);
    CHECK(h.readers() == 1);
  }
  publish(h, event_at(1, 2));
  CHECK(woken == 1);
  CHECK(h.readers() == 0);

  const auto everything = h.subscribe_all([&] { ++woken; });
  publish(h, event_at(9, 1));
  CHECK(woken == 2);
  h.wake_all();
  CHECK(woken == 3);
}

SCENARIO("a moved registration stays alive once") {
  hub h;
  int woken = 0;
  auto first = h.subscribe(stream_id{1}, [&] { ++woken; });
  hub::registration second;
  second = std::move(first);
  publish(h, event_at(1, 1));
  CHECK(woken == 1);
  CHECK(h.readers() == 1);
}

SCENARIO("the tail answers only what it still holds") {
  hub h{hub::limits{4096, 1 << 20}};
  std::vector<hot_event_ptr> out;
  CHECK_FALSE(h.read_tail(stream_id{1}, offset{1}, 1 << 20, out));
  for (std::uint64_t at = 1; at <= 100; ++at)
    publish(h, event_at(1, at));
  CHECK_FALSE(h.read_tail(stream_id{1}, offset{1}, 1 << 20, out));
  CHECK(h.read_tail(stream_id{1}, offset{100}, 1 << 20, out));
  REQUIRE(out.size() == 1);
  CHECK(out.front()->what->at == offset{100});
  out.clear();
  CHECK(h.read_tail(stream_id{1}, offset{101}, 1 << 20, out));
  CHECK(out.empty());
  CHECK(h.last_published(stream_id{1}) == offset{100});
}

SCENARIO("the line of a hot event is its envelope, and the frame's own bytes") {
  event e;
  e.workspace = "w";
  e.type = "item.delta";
  e.data = R"({"text":"\ndata: x"})";
  const auto hot = std::make_shared<const hot_event>(std::make_shared<const event>(std::move(e)));
  std::string envelope;
  append_envelope(envelope, event_view::of(*hot->what), false);
  CHECK(hot->line() == envelope + "\n");
}

SCENARIO("hot events together stay within the limit: the stream that was quiet longest gives way") {
  hub h{hub::limits{1 << 20, 64 << 10}};
  for (std::uint64_t stream = 1; stream <= 50; ++stream)
    publish(h, event_at(stream, 1, 4000));
  std::vector<hot_event_ptr> out;
  CHECK_FALSE(h.read_tail(stream_id{1}, offset{1}, 1, out));
  CHECK(h.read_tail(stream_id{50}, offset{1}, 1, out));
}
