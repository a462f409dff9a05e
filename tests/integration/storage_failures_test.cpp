// A log that is long, full or damaged, as clients of the whole server meet it.
#include "tests/integration/scene.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/process_memory.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_disk.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

namespace fs = std::filesystem;

/// The newest write-ahead log below a directory.
fs::path newest_wal(const fs::path& directory) {
  fs::path newest;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".log" && entry.path().filename() > newest.filename()) {
      newest = entry.path();
    }
  }
  return newest;
}

fs::path only_file(const fs::path& directory, const std::string& name) {
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().filename() == name) {
      return entry.path();
    }
  }
  return {};
}

/// Starts a server that is meant to refuse; returns what it printed.
std::string refusal_of(server_process& server) {
  constexpr int cannot_start = 4;
  const std::size_t before = server.output().size();
  server.launch();
  CHECK(server.wait_for_exit(seconds(20)) == cannot_start);
  server.kill(); // it is gone; now all that it said is in
  return server.output().substr(before);
}

/// The events of before are all there, each as it was.
void check_begins_with(const std::vector<json>& now, const std::vector<json>& before) {
  REQUIRE(now.size() >= before.size());
  CHECK(std::equal(before.begin(), before.end(), now.begin()));
  CHECK(dense_from(now, 1));
}

/// Waits until the server says that it goes on. From then on it must.
bool accepts_again(const scene& stage) {
  return poll_until([&] { return stage.client.get("/ready").status == 200; }, seconds(60));
}

/// Reads a log of so many words and more from each of the cursors, then lets so many clients come
/// back near its end, again and again.
void read_a_long_log(std::uint64_t words, std::vector<std::uint64_t> cursors, std::size_t clients) {
  scene stage({.environment = {{"TIDEMARK_TAIL_MAX_STREAM_BYTES", "64KiB"}}});
  CHECK(outcome_of(stage.run("demo", "WORDS " + std::to_string(words))) == "succeeded");
  stage.run("demo", "ECHO the end");
  const auto logged = stage.events("demo");
  const std::uint64_t head = logged.size();
  REQUIRE(head > words);
  CHECK(dense_from(logged, 1));

  const auto path = [](std::uint64_t after) {
    return of("demo", "events?after=" + std::to_string(after));
  };
  const auto check = [&](const sse_reader& reader, std::uint64_t after) {
    CHECK(reader.wait(
      [&](const sse_reader::frames& frames) {
        return !frames.empty() && frames.back().offset() == head;
      },
      seconds(60)));
    const auto events = reader.events();
    CHECK(events.size() == head - after);
    CHECK(dense_from(events, after + 1));
  };
  for (const auto after : cursors) {
    INFO("after " << after);
    check(sse_reader(stage.client, path(after)), after);
  }
  const auto near_the_end = head - 10;
  const auto come_back = [&] {
    std::vector<std::unique_ptr<sse_reader>> crowd;
    for (std::size_t i = 0; i < clients; ++i)
      crowd.push_back(std::make_unique<sse_reader>(stage.client, path(near_the_end)));
    for (const auto& each : crowd)
      check(*each, near_the_end);
  };
  const auto sent = [&] {
    return metric(stage.client.get("/metrics").body, "tidemark_events_sent_total");
  };
  come_back(); // what so many connections need is there after the first time
  const auto resident = status_figure(stage.server.pid(), "VmRSS");
  const double before = sent();
  constexpr int rounds = 5;
  std::string course = std::to_string(resident);
  for (int i = 0; i < rounds; ++i) {
    come_back();
    course += " " + std::to_string(status_figure(stage.server.pid(), "VmRSS"));
  }
  INFO("resident after each round: " << course << " KiB");
  CHECK(sent() - before == Approx(10.0 * rounds * static_cast<double>(clients)));
  constexpr std::uint64_t spared_kib = 64 << 10; // a crowd comes and goes; it must not add up
  CHECK((sanitized || status_figure(stage.server.pid(), "VmRSS") < resident + spared_kib));
}

/// Makes files until the disk has no room for more, and returns them.
std::vector<fs::path> take_all_files(const fs::path& disk, std::size_t at_most) {
  std::vector<fs::path> made;
  for (std::size_t i = 0; i < at_most; ++i) {
    const fs::path file = disk / ("file-" + std::to_string(i));
    if (std::ofstream(file)) {
      made.push_back(file);
    }
  }
  REQUIRE(made.size() < at_most);
  return made;
}

} // namespace

SCENARIO("B69: a log whose last bytes a crash has cut off opens with everything before them") {
  scene stage;
  for (const std::size_t cut : {std::size_t{1}, std::size_t{100}, std::size_t{4096}}) {
    INFO("cut " << cut);
    stage.run("demo", "WORDS 50");
    stage.server.kill();
    const fs::path wal = newest_wal(stage.server.path("data"));
    REQUIRE_FALSE(wal.empty());
    REQUIRE(fs::file_size(wal) > cut);
    fs::resize_file(wal, fs::file_size(wal) - cut);
    stage.server.start();
    stage.reconnect();
    CHECK(outcome_of(stage.run("demo", "ECHO goes on")) == "succeeded");
    const auto events = stage.events("demo");
    CHECK(dense_from(events, 1));
    CHECK(count_of(events, "turn.queued") == count_of(events, "turn.completed"));
    CHECK(bool_or(stage.client.get(of("demo", "verify")).parsed(), "ok", false));
  }
}

SCENARIO("B69: worse damage is refused with the remedy, and never opens as an empty log") {
  scene stage;
  stage.run("demo", "WORDS 50");
  const auto before = stage.events("demo");
  stage.server.kill();
  const std::string data = stage.server.path("data");
  {
    const fs::path wal = newest_wal(data);
    const std::string sound = read_file(wal);
    std::string damaged = sound;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
    write_file(wal, damaged);
    for (int i = 0; i < 2; ++i) {
      const std::string said = refusal_of(stage.server);
      INFO(said);
      CHECK(said.find("--log-accept-wal-loss") != std::string::npos);
    }
    write_file(wal, sound);
  }
  const fs::path current = only_file(data, "CURRENT");
  REQUIRE_FALSE(current.empty());
  const std::string content = read_file(current);
  fs::remove(current);
  for (int i = 0; i < 2; ++i) {
    const std::string said = refusal_of(stage.server);
    INFO(said);
    CHECK(said.find("CURRENT") != std::string::npos);
  }
  write_file(current, content);
  stage.server.start();
  stage.reconnect();
  check_begins_with(stage.events("demo"), before);
}

SCENARIO("B69: a log damaged in its middle opens on demand, with what is before the damage") {
  scene stage;
  stage.run("demo", "ECHO first");
  const auto before = stage.events("demo");
  const std::size_t kept = fs::file_size(newest_wal(stage.server.path("data")));
  stage.run("demo", "WORDS 200");
  stage.server.kill();
  const fs::path wal = newest_wal(stage.server.path("data"));
  std::string damaged = read_file(wal);
  REQUIRE(damaged.size() > kept + 1000);
  damaged[kept + 500] = static_cast<char>(damaged[kept + 500] ^ 1);
  write_file(wal, damaged);
  refusal_of(stage.server);
  stage.server.set_environment("TIDEMARK_LOG_ACCEPT_WAL_LOSS", "true");
  stage.server.start();
  stage.reconnect();
  check_begins_with(stage.events("demo"), before);
  CHECK(outcome_of(stage.run("demo", "ECHO goes on")) == "succeeded");
}

SCENARIO("B68: a full disk refuses work with its cause, loses nothing, and heals by itself") {
  const small_disk disk;
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  scene stage({.environment = {{"TIDEMARK_DATA_DIR", (disk.path() / "data").string()},
                               {"TIDEMARK_LOG_MIN_FREE", "8MiB"}}});
  CHECK(outcome_of(stage.run("demo", "ECHO before")) == "succeeded");
  const std::string ballast = disk.path() / "ballast";
  for (int round = 0; round < 2; ++round) {
    INFO("round " << round);
    const auto before = stage.events("demo");
    constexpr std::uintmax_t left = 4 << 20;
    const auto free = fs::space(disk.path()).available;
    REQUIRE(free > left);
    write_file(ballast, std::string(free - left, '.'));
    for (int i = 0; i < 3; ++i) {
      const auto refused = stage.client.post(
        of("demo", "turns"), json::object({{"prompt", "TOOL touch must-not-exist"}}));
      INFO(refused.body);
      CHECK((refused.status == 503 || refused.status == 507));
      CHECK(refused.body.find("space") != std::string::npos);
    }
    const auto ready = stage.client.get("/ready");
    INFO(ready.body);
    CHECK(ready.status == 503);
    CHECK(ready.body.find("space") != std::string::npos);
    CHECK(stage.client.get("/health").status == 200);
    CHECK(metric(stage.client.get("/metrics").body, "tidemark_log_accepting") == Approx(0));
    CHECK(stage.events("demo") == before);

    fs::remove(ballast);
    CHECK(accepts_again(stage));
    CHECK(outcome_of(stage.run("demo", "ECHO after")) == "succeeded");
    check_begins_with(stage.events("demo"), before);
  }
  CHECK_FALSE(fs::exists(stage.server.workspace("demo") + "/must-not-exist"));
  const auto before = stage.events("demo");
  stage.kill_and_restart();
  check_begins_with(stage.events("demo"), before);
}

SCENARIO("B68: a disk without room for files refuses work with its cause, and heals by itself") {
  constexpr int most_files = 400;
  const small_disk disk(48, most_files);
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  scene stage({.environment = {{"TIDEMARK_DATA_DIR", (disk.path() / "data").string()},
                               {"TIDEMARK_LOG_MIN_FREE", "1MiB"}}});
  CHECK(outcome_of(stage.run("demo", "ECHO before")) == "succeeded");
  const auto before = stage.events("demo");
  const auto ballast = take_all_files(disk.path(), most_files);
  for (const char* workspace : {"demo", "new"}) {
    const auto refused =
      stage.client.post(of(workspace, "turns"), json::object({{"prompt", "ECHO x"}}));
    INFO(refused.body);
    CHECK(refused.status == 507);
    CHECK(refused.body.find("no space for files") != std::string::npos);
  }
  const auto ready = stage.client.get("/ready");
  CHECK(ready.status == 503);
  CHECK(ready.body.find("no space for files") != std::string::npos);
  CHECK(metric(stage.client.get("/metrics").body, "tidemark_log_accepting") == Approx(0));
  CHECK(stage.events("demo") == before); // it can be read as ever

  for (const auto& file : ballast) {
    fs::remove(file);
  }
  CHECK(accepts_again(stage));
  CHECK(outcome_of(stage.run("demo", "ECHO after")) == "succeeded");
  check_begins_with(stage.events("demo"), before);
}

SCENARIO(
  "B68: a full disk of the workspaces refuses new ones with the cause, and heals by itself") {
  constexpr int most_files = 60;
  const small_disk disk(4, most_files);
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  scene stage({.environment = {{"WORKSPACE_ROOT", (disk.path() / "workspaces").string()}}});
  CHECK(outcome_of(stage.run("demo", "ECHO before")) == "succeeded");
  const auto ballast = take_all_files(disk.path(), most_files);
  const auto ask_new = [&] {
    return stage.client.post(of("new", "turns"), json::object({{"prompt", "ECHO x"}}));
  };
  const auto refused = ask_new();
  INFO(refused.body);
  CHECK(refused.status == 507);
  CHECK(refused.body.find("No space left on device") != std::string::npos);
  CHECK(outcome_of(stage.run("demo", "ECHO meanwhile")) == "succeeded"); // it has its directory

  for (const auto& file : ballast) {
    fs::remove(file);
  }
  CHECK(poll_until([&] { return ask_new().status == 202; }));
  CHECK(outcome_of(stage.run("new", "ECHO after")) == "succeeded");
}

SCENARIO("B68: a disk that fills while a task runs ends no task twice and no server") {
  const small_disk disk;
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  scene stage({.environment = {{"TIDEMARK_DATA_DIR", (disk.path() / "data").string()},
                               {"TIDEMARK_LOG_MIN_FREE", "8MiB"}}});
  const std::string turn = stage.submit("demo", "WORDS 3000 1");
  stage.await_event("demo", "item.delta", turn);
  const std::string ballast = disk.path() / "ballast";
  const auto free = fs::space(disk.path()).available;
  write_file(ballast, std::string(free - (4U << 20), '.'));
  CHECK(poll_until([&] { return stage.client.get("/ready").status == 503; }));
  const auto before = stage.events("demo");
  fs::remove(ballast);
  CHECK(accepts_again(stage));
  const json completed = stage.completion("demo", turn, seconds(60));
  INFO(completed.dump());
  CHECK(outcome_of(stage.run("demo", "ECHO after")) == "succeeded");
  const auto events = stage.events("demo");
  check_begins_with(events, before);
  CHECK(count_of(events, "turn.completed") == 2);
  CHECK(process_alive(stage.server.pid()));
}

SCENARIO(
  "B56: readers of a long log get all from where they were, and nothing is read for naught") {
  read_a_long_log(6000, {0, 3047, 5990}, 20); // more than any page holds
}

SCENARIO("B56: the same with 25,000 events and 200 clients", "[long][.]") {
  read_a_long_log(25'000, {0, 24'990, 12'345}, 200);
}
