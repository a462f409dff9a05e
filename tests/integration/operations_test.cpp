// Health, metrics, authentication, limits, shutdown, restart: the server as its operator sees it.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

std::size_t series(const std::string& exposition) {
  std::istringstream lines(exposition);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    count += line.empty() || line.front() == '#' ? 0 : 1;
  }
  return count;
}

http_reply with_token(const scene& stage, const std::string& value) {
  return stage.client.send({.path = "/api/v1/status", .headers = {{"Authorization", value}}});
}

} // namespace

SCENARIO("contract, Transport: health needs no token, everything else does; a refused request has "
         "no effect") {
  scene stage;
  const http_client stranger(stage.server.url(), "");
  const auto health = stranger.get("/health");
  CHECK(health.status == 200);
  CHECK(string_or(health.parsed(), "status") == "healthy");
  CHECK_FALSE(string_or(health.parsed(), "version").empty());
  CHECK(stranger.post(of("demo", "turns"), json::object({{"prompt", "x"}})).status == 401);
  CHECK(stranger.post("/api/v1/message", message("demo", "x")).status == 401);
  CHECK(stranger.get("/api/v1/status").status == 401);
  CHECK(with_token(stage, "Bearer wrong").status == 401);
  CHECK(with_token(stage, "Bearer test-toke").status == 401);
  CHECK(with_token(stage, "bEaReR test-token").status == 200);
  CHECK(stage.client.get("/api/v1/workspaces/demo").status == 404);
}

SCENARIO("ready says that work is accepted; an unknown path or method is answered as such") {
  scene stage;
  CHECK(stage.client.get("/ready").status == 200);
  CHECK(stage.client.get("/api/v1/nothing").status == 404);
  CHECK(stage.client.send({.method = "PUT", .path = "/health"}).status == 405);
}

SCENARIO("B75: metrics stay bounded whatever clients ask for") {
  scene stage;
  stage.run("demo", "hello");
  const auto before = stage.client.get("/metrics");
  REQUIRE(before.status == 200);
  CHECK(before.headers.at("content-type").starts_with("text/plain"));
  for (int i = 0; i < 200; ++i) {
    stage.client.get("/api/v1/random/" + std::to_string(i));
    stage.client.get("/api/v1/workspaces/unknown-" + std::to_string(i));
    stage.client.send({.method = "BREW" + std::to_string(i), .path = "/" + std::to_string(i)});
  }
  stage.client.get(of("%22quote%5C%0A", "queue"));
  stage.run("weird.name-1", "hello");
  const auto after = stage.client.get("/metrics");
  CHECK(series(after.body) < series(before.body) + 60);
  CHECK(after.body.find("unknown-7") == std::string::npos);
  CHECK(after.body.find("weird.name-1") == std::string::npos);
}

SCENARIO("B73: limits answer with their status and a JSON body, others are not affected") {
  scene stage(
    {.environment = {{"TIDEMARK_HTTP_MAX_BODY", "1MiB"}, {"TIDEMARK_HTTP_MAX_HEADER", "16KiB"}}});
  const json small = message("demo", "SHA\n" + std::string(700000, 'x'));
  CHECK(bool_or(stage.client.post("/api/v1/message", small).parsed(), "success", false));
  const auto large =
    stage.client.post("/api/v1/message", message("demo", std::string(2400000, 'x')));
  CHECK(large.status == 413);
  CHECK(large.parsed().is_object());
  const auto headers = stage.client.send(
    {.path = "/api/v1/status", .headers = {{"X-Filler", std::string(40000, 'y')}}});
  CHECK(headers.status == 431);
  CHECK(stage.client.get("/health").status == 200);
}

SCENARIO("contract, Process duties: SIGTERM ends live streams with an error, keeps what was "
         "acknowledged, and exits 0 in time") {
  scene stage;
  sse_reader v1(stage.client, message_stream_path, message_stream("demo", "WORDS 10000 20"));
  REQUIRE(v1.wait_for("chunk"));
  sse_reader follower(stage.client, of("demo", "events"));
  REQUIRE(follower.wait_for("item.delta"));
  const std::string other = stage.submit("other", "IGNORETERM\nWORDS 10000 20");
  const json started = stage.await_event("other", "turn.started", other);
  CHECK(stage.server.terminate(seconds(10)) == 0);
  REQUIRE(v1.wait_for_end());
  INFO(v1.raw().substr(v1.raw().size() > 2000 ? v1.raw().size() - 2000 : 0));
  CHECK(v1.ended_properly());
  CHECK(of_type(v1.all(), "error").size() == 1);
  REQUIRE(follower.wait_for_end());
  CHECK(follower.ended_properly());
  const auto pid = int_or(object_at(object_at(started, "data"), "agent"), "pid", -1);
  CHECK(poll_until([&] { return !process_alive(static_cast<pid_t>(pid)); }));

  stage.server.start();
  stage.reconnect();
  const auto seen = follower.events();
  const auto logged = stage.events("demo");
  REQUIRE(logged.size() >= seen.size());
  CHECK(dense_from(logged, 1));
  CHECK(count_of(logged, "turn.completed") == 1);
}

SCENARIO("B65: after kill -9 the running turn is interrupted, queued ones keep their order, no "
         "process is left") {
  scene stage;
  const std::string running = stage.submit("demo", "ORPHAN 300\nWORDS 10000 20");
  const json started = stage.await_event("demo", "turn.started", running);
  stage.await_event("demo", "item.completed", running);
  std::vector<std::string> queued;
  for (int i = 0; i < 3; ++i) {
    queued.push_back(stage.submit("demo", "TOOL echo " + std::to_string(i) + " >> order.txt"));
  }
  std::vector<pid_t> helpers;
  for (const json& e : stage.events("demo", "types=item.completed")) {
    std::istringstream words(string_or(object_at(object_at(e, "data"), "item"), "text"));
    std::string word;
    if (words >> word && word == "orphans") {
      for (pid_t pid = 0; words >> pid;) {
        helpers.push_back(pid);
      }
    }
  }
  CHECK(helpers.size() >= 3);
  const auto agent =
    static_cast<pid_t>(int_or(object_at(object_at(started, "data"), "agent"), "pid", -1));
  stage.kill_and_restart();

  CHECK(string_or(object_at(stage.completion("demo", running), "data"), "outcome")
        == "interrupted");
  for (const std::string& turn : queued) {
    CHECK(string_or(object_at(stage.completion("demo", turn), "data"), "outcome") == "succeeded");
  }
  CHECK(read_file(stage.server.workspace("demo") + "/order.txt") == "0\n1\n2\n");
  CHECK(poll_until([&] { return !process_alive(agent); }));
  for (const pid_t pid : helpers) {
    INFO("helper " << pid);
    CHECK(poll_until([&] { return !process_alive(pid); }));
  }
}

SCENARIO("a turn that asked for it is run again after a crash") {
  scene stage;
  const auto reply = stage.client.post(
    of("demo", "turns"),
    json::object({{"prompt", "TOOL echo x >> runs.txt; sleep 1"}, {"on_restart", "retry"}}));
  REQUIRE(reply.status == 202);
  const std::string turn = string_or(reply.parsed(), "turn");
  REQUIRE(
    poll_until([&] { return read_file(stage.server.workspace("demo") + "/runs.txt") == "x\n"; }));
  stage.kill_and_restart();
  CHECK(string_or(object_at(stage.completion("demo", turn), "data"), "outcome") == "succeeded");
  CHECK(read_file(stage.server.workspace("demo") + "/runs.txt") == "x\nx\n");
  CHECK(count_of(stage.events("demo"), "turn.completed") == 1);
}

SCENARIO("B70: a second server on the same directory refuses at once and harms nothing") {
  scene stage;
  stage.run("demo", "hello");
  server_options how;
  how.environment["TIDEMARK_DATA_DIR"] = stage.server.path("data");
  std::string refused;
  try {
    const server_process second(how);
  } catch (const std::exception& why) {
    refused = why.what();
  }
  INFO(refused);
  CHECK(refused.find("in use by process " + std::to_string(stage.server.pid()))
        != std::string::npos);
  CHECK(string_or(object_at(stage.run("demo", "hello"), "data"), "outcome") == "succeeded");
  stage.kill_and_restart();
  CHECK(string_or(object_at(stage.run("demo", "hello"), "data"), "outcome") == "succeeded");
}

SCENARIO("B49: strict workspaces run no command, whatever the repository's own settings say") {
  scene stage({.environment = {{"RUNTIME_POLICY", "strict"}}});
  const std::string widened =
    R"json({"permissions":{"allow":["Bash(*)"],"defaultMode":"bypassPermissions"}})json";
  write_file(stage.server.workspace("demo") + "/.claude/settings.json", widened);
  write_file(stage.server.path("workspaces/.claude/settings.json"), widened);
  write_file(stage.server.path(".claude/settings.json"), widened);
  const json completed = stage.run("demo", "TOOL touch must-not-exist");
  INFO(completed.dump());
  CHECK(string_or(object_at(completed, "data"), "outcome") == "succeeded");
  CHECK_FALSE(std::filesystem::exists(stage.server.workspace("demo") + "/must-not-exist"));
  const json asked = stage.run("demo", "ASK Write");
  CHECK(asked.dump().find("Allowed") == std::string::npos);
}

SCENARIO("contract, Sessions, settings, policy: an unknown policy is refused at start") {
  CHECK_THROWS(server_process({.environment = {{"RUNTIME_POLICY", "anything-goes"}}}));
}
