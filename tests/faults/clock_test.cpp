// The machine's clock is put forward and back by hours while the server runs.
#include "tests/integration/scene.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::hours;
using std::chrono::seconds;

namespace {

/// The clock that a server is shown.
class wrong_clock {
public:
  wrong_clock() {
    write_file(path(), std::string(sizeof(std::int64_t), '\0'));
    const int fd = ::open(path().c_str(), O_RDWR | O_CLOEXEC);
    void* shared = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    REQUIRE(shared != MAP_FAILED);
    shift_ = static_cast<volatile std::int64_t*>(shared);
  }
  ~wrong_clock() { ::munmap(const_cast<std::int64_t*>(shift_), sizeof *shift_); }
  wrong_clock(const wrong_clock&) = delete;
  wrong_clock& operator=(const wrong_clock&) = delete;

  void put(seconds by) { *shift_ = by.count(); }
  [[nodiscard]] server_options server() const {
    server_options how;
    how.environment = {{"LD_PRELOAD", program("libshifted_clock.so")},
                       {"SHIFTED_CLOCK_FILE", path()}};
    return how;
  }

private:
  [[nodiscard]] std::string path() const { return directory_ / "shift"; }
  temp_dir directory_;
  volatile std::int64_t* shift_ = nullptr;
};

bool times_never_go_back(const std::vector<json>& events) {
  return std::ranges::is_sorted(events, {}, [](const json& e) { return string_or(e, "time"); });
}

bool has_pending(const scene& stage, const std::string& turn) {
  const auto reply = stage.client.get(of("demo", "pending-results?ack=false"));
  return reply.body.find(turn) != std::string::npos;
}

} // namespace

SCENARIO("a clock that jumps by hours ends no turn, expires no result, and turns no time back") {
  wrong_clock clock;
  scene stage(clock.server());
  std::string pending;
  {
    sse_reader dropped(stage.client, message_stream_path,
                       message_stream("demo", "PAUSE 100\nECHO kept"));
    pending = string_or(data_of(stage.await_event("demo", "turn.queued")), "turn");
    dropped.leave(leaving::by_reset);
  }
  stage.completion("demo", pending);
  REQUIRE(poll_until([&] { return has_pending(stage, pending); }));
  sse_reader reader(stage.client, of("demo", "events"));

  std::vector<std::string> turns;
  for (const auto shift : {hours(5), hours(0), hours(-5), hours(26), hours(-26), hours(0)}) {
    INFO("shifted by " << shift.count() << " h");
    const auto reply = stage.client.post(
      of("demo", "turns"), json::object({{"prompt", "WORDS 40 5"}, {"timeout_s", 60}}));
    REQUIRE(reply.status == 202);
    turns.push_back(string_or(reply.parsed(), "turn"));
    stage.await_event("demo", "item.delta", turns.back());
    clock.put(shift);
    const json completed = stage.completion("demo", turns.back());
    INFO(completed.dump());
    CHECK(outcome_of(completed) == "succeeded");
    const auto took = int_or(data_of(completed), "duration_ms", -1);
    CHECK(took >= 0);
    CHECK(took < 60'000);
    CHECK(stage.client.get("/ready").status == 200);
    CHECK(has_pending(stage, pending));
  }
  const auto events = stage.events("demo");
  CHECK(dense_from(events, 1));
  CHECK(times_never_go_back(events));
  CHECK(count_of(events, "turn.completed") == turns.size() + 1);
  CHECK(reader.wait(
    [&](const auto& seen) { return !seen.empty() && seen.back().offset() >= events.size(); }));
  CHECK(dense_from(reader.events(), 1));
}

SCENARIO("a turn's limit is counted in real time, whatever the clock shows") {
  wrong_clock clock;
  scene stage(clock.server());
  clock.put(hours(5));
  stage.run("demo", "ECHO x");
  clock.put(hours(0)); // its last event is hours ahead now
  const auto reply = stage.client.post(
    of("demo", "turns"), json::object({{"prompt", "WORDS 100000 50"}, {"timeout_s", 1}}));
  const json completed = stage.completion("demo", string_or(reply.parsed(), "turn"));
  INFO(completed.dump());
  CHECK(completed.dump().find("TIMEOUT") != std::string::npos);
}

SCENARIO("a log whose last commit lies in the future goes on, and its times do not go back") {
  wrong_clock clock;
  scene stage(clock.server());
  clock.put(hours(9));
  stage.run("demo", "ECHO x");
  clock.put(hours(-9));
  stage.kill_and_restart();
  CHECK(outcome_of(stage.run("demo", "ECHO y")) == "succeeded");
  CHECK(outcome_of(stage.run("new", "ECHO y")) == "succeeded");
  CHECK(times_never_go_back(stage.events("demo")));
  CHECK(bool_or(stage.client.get(of("demo", "verify")).parsed(), "ok", false));
}
