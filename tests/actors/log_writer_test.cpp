#include "actors/log_writer.hpp"
#include "storage/memory_log.hpp"
#include "tests/support/poll_until.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace std::chrono_literals;

namespace {

struct writer_stage {
  explicit writer_stage(std::chrono::milliseconds recover_every = 20ms) : system(config) {
    log_writer_deps deps{log, readers, metrics};
    deps.max_batch_events = 7;
    deps.recover_every = recover_every;
    writer = spawn_log_writer(system, deps);
  }
  ~writer_stage() {
    caf::scoped_actor self{system};
    self->request(writer, 10s, stop_atom::value).receive([](bool) {}, [](const caf::error&) {});
  }

  append_ptr next(const stream_info& stream, std::uint64_t expected_head) {
    auto request = std::make_shared<append_request>();
    request->stream = stream.id;
    request->incarnation = stream.incarnation;
    request->expected = offset{expected_head};
    request->events.push_back({"agent.notice", {}, timestamp{1}, "{}", {}});
    return request;
  }

  append_reply_ptr append(const append_ptr& what) {
    caf::scoped_actor self{system};
    append_reply_ptr out;
    self->request(writer, 10s, append_atom::value, what)
      .receive([&](const append_reply_ptr& reply) { out = reply; }, [](const caf::error&) {});
    return out;
  }

  memory_log log;
  hub readers;
  instruments metrics{"test"};
  caf::actor_system_config config;
  caf::actor_system system;
  log_writer_actor writer;
};

} // namespace

SCENARIO("pipelined appends are stored in order, published and answered each") {
  writer_stage stage;
  const auto stream = stage.log.acquire("w").value();
  constexpr std::uint64_t count = 300;
  caf::scoped_actor self{stage.system};
  for (std::uint64_t i = 0; i < count; ++i)
    self->send(stage.writer, append_atom::value, stage.next(stream, i));
  const auto last = stage.append(stage.next(stream, count));
  REQUIRE(last);
  REQUIRE(last->result->first.value == count + 1);
  REQUIRE(last->events.front()->workspace == "w");
  REQUIRE(last->events.front()->at == last->result->first);
  std::vector<hot_event_ptr> tail;
  REQUIRE(stage.readers.read_tail(stream.id, offset{1}, 1 << 20, tail));
  REQUIRE(tail.size() == count + 1);
}

SCENARIO("an append that expects another head is refused and harms no other") {
  writer_stage stage;
  const auto stream = stage.log.acquire("w").value();
  REQUIRE(stage.append(stage.next(stream, 5))->result.error().why.code == errc::wrong_offset);
  REQUIRE(stage.append(stage.next(stream, 0))->result);
}

SCENARIO("a log that failed refuses until it has recovered by itself") {
  writer_stage stage;
  const auto stream = stage.log.acquire("w").value();
  stage.log.fail_next(errc::io);
  REQUIRE(stage.append(stage.next(stream, 0))->result.error().why.code == errc::io);
  const auto later = stage.append(stage.next(stream, 0));
  REQUIRE(later->result.error().why.code == errc::unavailable);
  CHECK(later->result.error().why.retryable);
  REQUIRE(
    test::poll_until([&] { return stage.append(stage.next(stream, 0))->result.has_value(); }));
}

SCENARIO("a log that says it accepts again is not refused by its writer any longer") {
  writer_stage stage{1h};
  const auto stream = stage.log.acquire("w").value();
  stage.log.fail_next(errc::full);
  REQUIRE(stage.append(stage.next(stream, 0))->result.error().why.code == errc::full);
  REQUIRE(stage.log.health().accepting);
  REQUIRE(stage.append(stage.next(stream, 0))->result.has_value());
}
