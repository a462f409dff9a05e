// The server is told to end, whatever it is doing: it does within its limit, and leaves nothing behind.
#include "tests/faults/server_limits.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/small_disk.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <thread>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr seconds limit{10}; // the server's own is one less
constexpr int in_order = 0, by_force = 1;

/// Ends it in order and looks for what is left.
void check_end(scene& stage) {
  const auto mark = mark_of(stage.server);
  const int code = stage.server.terminate(limit);
  INFO(stage.server.output());
  CHECK(code == in_order);
  CHECK(poll_until([&] { return processes_with_environment(mark).empty(); }, seconds(2)));
}

void check_history(scene& stage, const std::string& workspace) {
  stage.server.start();
  stage.reconnect();
  if (stage.client.get(of(workspace, "events")).status == 200) { // an idle server has none
    const auto events = stage.events(workspace);
    CHECK(dense_from(events, 1));
    CHECK(count_of(events, "turn.queued") >= count_of(events, "turn.completed"));
  }
  CHECK(outcome_of(stage.run("afterwards", "ECHO after")) == "succeeded");
}

/// The server is the first process of a pid namespace; this is how the test sees it.
pid_t only_child_of(pid_t parent) {
  const auto id = std::to_string(parent);
  pid_t child = 0;
  poll_until([&] {
    child = std::atoi(read_file("/proc/" + id + "/task/" + id + "/children").c_str());
    return child > 0;
  });
  return child;
}

/// Dead ones that nobody has waited for as well.
std::size_t children_named(const std::string& name, pid_t of) {
  std::size_t count = 0;
  const auto id = std::to_string(of);
  std::istringstream all(read_file("/proc/" + id + "/task/" + id + "/children"));
  for (std::string pid; all >> pid;) {
    count += read_file("/proc/" + pid + "/comm") == name + "\n" ? 1 : 0;
  }
  return count;
}

} // namespace

SCENARIO("a server ends in order within its limit, whatever state it is in") {
  const auto begun = [](const char* prompt, const char* sign) {
    return [=](scene& stage) { stage.await_event("demo", sign, stage.submit("demo", prompt)); };
  };
  using prepare = std::function<void(scene&)>;
  const std::vector<std::pair<std::string, prepare>> states{
    {"idle", [](scene&) {}},
    {"with a warm agent", [](scene& stage) { stage.run("demo", "ECHO x"); }},
    {"with a queue",
     [&](scene& stage) {
       begun("WORDS 5000 10", "item.delta")(stage);
       for (int i = 0; i < 20; ++i) {
         stage.submit("demo", "ECHO x");
       }
     }},
    {"while an agent starts", [](scene& stage) { stage.submit("demo", "LATEINIT 20000\nECHO x"); }},
    {"in a tool call", begun("TOOL sleep 60", "item.started")},
    {"with helpers left by an agent", begun("ORPHAN 300\nWORDS 5000 10", "item.delta")},
    {"with an agent that ignores signals", begun("DEAF\nIGNORETERM\nWORDS 5000 10", "item.delta")},
    {"with an agent that waits for a permission", begun("ASK Write\nECHO x", "turn.started")},
    {"with a background task", [](scene& stage) { stage.run("demo", "BACKGROUND 60000\nECHO x"); }},
  };
  for (const auto& [name, prepared] : states) {
    INFO(name);
    scene stage;
    prepared(stage);
    check_end(stage);
    check_history(stage, "demo");
  }
}

SCENARIO("a server with readers of every kind ends in order within its limit") {
  scene stage;
  for (int i = 0; i < 3; ++i) {
    stage.run("full", "HUGE 3000000");
  }
  const auto turn = stage.submit("demo", "WORDS 5000 5");
  stage.await_event("demo", "item.delta", turn);
  sse_reader follows(stage.client, of("demo", "events"));
  sse_reader waits(stage.client, message_stream_path, message_stream("v1", "WORDS 5000 5"));
  std::vector<raw_connection> others;
  for (int i = 0; i < 10; ++i) {
    others.emplace_back(stage.server.url());
    others.back().say(i % 2 == 0
                        ? "GET /api/v1/sta"
                        : "GET " + of("full", "events?raw=true")
                            + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer test-token\r\n"
                              "Accept: text/event-stream\r\n\r\n");
  }
  REQUIRE(follows.wait_for("item.delta"));
  check_end(stage);
  REQUIRE(follows.wait_for_end());
  CHECK(follows.ended_properly());
  check_history(stage, "demo");
}

SCENARIO("a server told to end while it starts ends, and its log opens again") {
  std::mt19937_64 dice(test_seed("ends during starts"));
  scene stage;
  stage.run("demo", "WORDS 300");
  stage.submit("demo", "WORDS 5000 10");
  stage.await_event("demo", "item.delta");
  stage.server.kill();
  for (int i = 0; i < 10; ++i) {
    const milliseconds after(dice() % 120);
    INFO("told after " << after.count() << " ms");
    stage.server.launch();
    std::this_thread::sleep_for(after); // the random moment
    const int code = stage.server.terminate(limit);
    // Before the server has taken over its signals, the first of them ends any process.
    constexpr int as_any_process = 128 + SIGTERM;
    CHECK((code == in_order || code == as_any_process));
  }
  check_history(stage, "demo");
}

SCENARIO("a server whose disk is full ends in order within its limit") {
  const small_disk disk;
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  scene stage({.environment = {{"TIDEMARK_DATA_DIR", (disk.path() / "data").string()},
                               {"TIDEMARK_LOG_MIN_FREE", "8MiB"}}});
  const auto turn = stage.submit("demo", "WORDS 5000 5");
  stage.await_event("demo", "item.delta", turn);
  const auto ballast = disk.path() / "ballast";
  std::ofstream(ballast) << std::string(std::filesystem::space(disk.path()).available - (2U << 20),
                                        '.');
  REQUIRE(poll_until([&] { return stage.client.get("/ready").status == 503; }));
  const int code = stage.server.terminate(limit);
  INFO(stage.server.output());
  CHECK(code == in_order);
  std::filesystem::remove(ballast);
  stage.server.start();
  stage.reconnect();
  CHECK(outcome_of(stage.completion("demo", turn)) == "interrupted");
  CHECK(dense_from(stage.events("demo"), 1));
}

SCENARIO("B74: a server with 50 streams and 10 running agents ends in order within its limit") {
  scene stage;
  constexpr int agents = 10, streams = 50;
  std::vector<std::string> turns;
  for (int i = 0; i < agents; ++i) {
    turns.push_back(stage.submit("w" + std::to_string(i), "WORDS 5000 20"));
  }
  std::vector<std::unique_ptr<sse_reader>> readers;
  for (int i = 0; i < streams; ++i) {
    readers.push_back(
      std::make_unique<sse_reader>(stage.client, of("w" + std::to_string(i % agents), "events")));
  }
  for (const auto& reader : readers) {
    REQUIRE(reader->wait_for("item.delta"));
  }
  check_end(stage);
  for (const auto& reader : readers) {
    REQUIRE(reader->wait_for_end());
    CHECK(reader->ended_properly());
  }
  check_history(stage, "w0");
  for (int i = 0; i < agents; ++i) {
    const auto end = stage.completion("w" + std::to_string(i), turns[static_cast<std::size_t>(i)]);
    CHECK(outcome_of(end) == "interrupted");
  }
}

SCENARIO("B74: a server whose disk does not answer says so, and ends by force within its limit") {
  const temp_dir place;
  const std::string blocked = place / "blocked";
  scene stage({.environment = {{"LD_PRELOAD", program("libblocked_disk.so")},
                               {"BLOCKED_DISK_FILE", blocked},
                               {"TIDEMARK_HTTP_ANSWER_DEADLINE", "1s"},
                               {"TIDEMARK_SERVER_SHUTDOWN_LIMIT", "3s"}}});
  const auto turn = stage.submit("demo", "ORPHAN 300\nWORDS 5000 5");
  stage.await_event("demo", "item.delta", turn);
  sse_reader reader(stage.client, of("demo", "events"));
  REQUIRE(reader.wait_for("item.delta"));
  write_file(blocked, "");
  const auto refused = stage.client.post(of("demo", "turns"), json::object({{"prompt", "ECHO x"}}));
  INFO(refused.body);
  CHECK(refused.status >= 500);
  CHECK(refused.parsed().contains("err_id"));
  CHECK(stage.client.get("/health").status == 200);
  const auto seen = stage.events("demo");

  const auto mark = mark_of(stage.server);
  const int code = stage.server.terminate(limit);
  INFO(stage.server.output());
  CHECK(code == by_force);
  CHECK(poll_until([&] { return processes_with_environment(mark).empty(); }, seconds(5)));
  std::filesystem::remove(blocked);
  stage.server.start();
  stage.reconnect();
  CHECK(outcome_of(stage.completion("demo", turn)) == "interrupted");
  const auto events = stage.events("demo");
  CHECK(dense_from(events, 1));
  REQUIRE(events.size() >= seen.size());
  CHECK(std::equal(seen.begin(), seen.end(), events.begin()));
}

SCENARIO("a second SIGTERM ends a server at once, by force, and leaves nothing behind or lost") {
  scene stage({.environment = {{"TIDEMARK_AGENT_INTERRUPT_GRACE", "60s"},
                               {"TIDEMARK_AGENT_KILL_GRACE", "60s"},
                               {"TIDEMARK_SERVER_SHUTDOWN_LIMIT", "2m"}}});
  const auto turn = stage.submit("demo", "ORPHAN 300\nDEAF\nIGNORETERM\nWORDS 5000 10");
  stage.await_event("demo", "item.delta", turn);
  // Its end has begun and takes as long as a reader that takes nothing.
  for (int i = 0; i < 3; ++i) {
    stage.run("full", "HUGE 3000000");
  }
  raw_connection stalled(stage.server.url());
  stalled.say("GET " + of("full", "events?raw=true")
              + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer test-token\r\n"
                "Accept: text/event-stream\r\n\r\n");
  stage.client.get("/health");
  const auto mark = mark_of(stage.server);
  ::kill(stage.server.pid(), SIGTERM);
  REQUIRE(poll_until(
    [&] { return stage.server.output().find("stopping on signal") != std::string::npos; }));
  const int code = stage.server.terminate(limit);
  INFO(stage.server.output());
  CHECK((code == by_force || code == in_order)); // it may have been quick
  CHECK(poll_until([&] { return processes_with_environment(mark).empty(); }, seconds(5)));
  stage.server.start();
  stage.reconnect();
  CHECK(outcome_of(stage.completion("demo", turn)) == "interrupted");
  CHECK(dense_from(stage.events("demo"), 1));
}

SCENARIO("as the first process of a container it reaps orphans, and ends in order") {
  server_options how;
  how.wrapper = {"/usr/bin/unshare", "--pid", "--fork", "--mount-proc", "--kill-child"};
  std::unique_ptr<scene> inside;
  try {
    inside = std::make_unique<scene>(how);
  } catch (const std::exception& why) {
    WARN("skipped: no pid namespace can be made here: " << why.what());
    return;
  }
  scene& stage = *inside;
  const pid_t server = only_child_of(stage.server.pid());
  REQUIRE(server > 0);
  CHECK(read_file("/proc/" + std::to_string(server) + "/status").find("\t1\nNSpgid")
        != std::string::npos);
  CHECK(outcome_of(stage.run("demo", "ORPHAN 300\nECHO x")) == "succeeded");
  // Whatever runs in the container and loses its parent becomes the server's child, as with
  // `docker exec`.
  const std::string enter = "nsenter -t " + std::to_string(server)
                            + " -p -m sh -c 'for i in 1 2 3 4 5; do (sleep 2 & ) ; done'";
  REQUIRE(std::system(enter.c_str()) == 0);
  REQUIRE(poll_until([&] { return children_named("sleep", server) > 0; }));
  CHECK(poll_until([&] { return children_named("sleep", server) == 0; }));
  CHECK(outcome_of(stage.run("demo", "ECHO after")) == "succeeded");

  stage.submit("demo", "ORPHAN 300\nWORDS 5000 10");
  stage.await_event("demo", "item.delta");
  ::kill(server, SIGTERM);
  CHECK(stage.server.wait_for_exit(limit) == in_order);
}
