// What the operating system gives runs out while the server runs, and comes back.
#include "tests/faults/server_limits.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

std::string error_of(const json& completed) {
  return object_at(data_of(completed), "error").dump();
}

/// Every turn that was acknowledged is there and has ended once; the log is whole.
void check_whole(const scene& stage, const std::string& workspace,
                 const std::vector<std::string>& turns) {
  const auto events = stage.events(workspace);
  CHECK(dense_from(events, 1));
  for (const std::string& turn : turns) {
    INFO(turn);
    CHECK(std::ranges::count_if(events,
                                [&](const json& e) {
                                  return string_or(e, "type") == "turn.completed"
                                         && string_or(e, "turn") == turn;
                                })
          == 1);
  }
  CHECK(bool_or(stage.client.get(of(workspace, "verify")).parsed(), "ok", false));
}

/// By the server's own user: nobody else may, without a capability that containers do not have.
void limit_processes(const scene& stage, unsigned user, const std::string& to) {
  const auto id = std::to_string(user);
  const auto as_user =
    user == 0 ? "" : "setpriv --reuid=" + id + " --regid=" + id + " --clear-groups ";
  const auto command =
    as_user + "prlimit --pid " + std::to_string(stage.server.pid()) + " --nproc=" + to;
  REQUIRE(std::system(command.c_str()) == 0);
}

} // namespace

SCENARIO("a server without descriptors says so, serves those who are here, and goes on") {
  scene stage;
  stage.run("demo", "ECHO warm");
  sse_reader reader(stage.client, of("demo", "events"));
  REQUIRE(reader.wait_for("turn.completed"));
  const auto turn = stage.submit("demo", "SLOW 300\nWORDS 300 2");
  stage.await_event("demo", "item.delta", turn);

  taken_away descriptors(stage.server.pid(), RLIMIT_NOFILE, open_descriptors(stage) + 8);
  std::vector<raw_connection> crowd;
  for (int i = 0; i < 40; ++i) {
    crowd.emplace_back(stage.server.url()); // the kernel accepts them, the server cannot
  }
  REQUIRE(poll_until(
    [&] { return stage.server.output().find("cannot accept a connection") != std::string::npos; }));
  const auto ends_the_turn = [&](const sse_reader::frames& seen) {
    return std::ranges::any_of(seen, [&](const sse_frame& e) {
      return e.event == "turn.completed" && string_or(e.parsed(), "turn") == turn;
    });
  };
  CHECK(reader.wait(ends_the_turn));
  CHECK(dense_from(reader.events(), 1));
  CHECK(process_alive(stage.server.pid()));

  crowd.clear();
  REQUIRE(poll_until([&] { return stage.client.get("/ready").status == 200; }));
  descriptors.give_back();
  CHECK(outcome_of(stage.run("demo", "ECHO after")) == "succeeded");
  CHECK(outcome_of(stage.run("other", "ECHO after")) == "succeeded");
  check_whole(stage, "demo", {turn});
}

SCENARIO("an agent that cannot be started for lack of descriptors fails its turn with the cause") {
  scene stage;
  const auto warm = stage.run("warm", "ECHO warm");
  std::string refused;
  {
    const auto before = stage.submit("demo", "ECHO first");
    stage.completion("demo", before);
    const auto queued = stage.submit("cold", "PAUSE 50\nECHO x");
    stage.completion("cold", queued);
    // Room for a client's connection, and for no agent's pipes.
    const taken_away descriptors(stage.server.pid(), RLIMIT_NOFILE, open_descriptors(stage) + 3);
    refused = stage.submit("new", "ECHO never");
    const json completed = stage.completion("new", refused);
    INFO(completed.dump());
    CHECK(outcome_of(completed) == "failed");
    CHECK(error_of(completed).find("open files") != std::string::npos);
    CHECK(outcome_of(stage.run("warm", "ECHO still")) == "succeeded");
  }
  CHECK(outcome_of(stage.run("new", "ECHO after")) == "succeeded");
  check_whole(stage, "new", {refused});
}

SCENARIO("a server that may start no more processes fails turns with the cause, and goes on") {
  constexpr unsigned nobody_else = 54'321; // the limit counts what a user runs, and not root's
  server_options how;
  how.user = ::geteuid() == 0 ? nobody_else : 0;
  scene stage(how);
  CHECK(outcome_of(stage.run("warm", "ECHO warm")) == "succeeded");
  std::string refused;
  {
    limit_processes(stage, how.user, "1:");
    refused = stage.submit("demo", "ECHO never");
    const json completed = stage.completion("demo", refused);
    INFO(completed.dump());
    CHECK(outcome_of(completed) == "failed");
    CHECK(error_of(completed).find("Resource temporarily unavailable") != std::string::npos);
    CHECK(outcome_of(stage.run("warm", "ECHO still")) == "succeeded"); // its process is there
    CHECK(stage.client.get("/ready").status == 200);
    limit_processes(stage, how.user, "4096:");
  }
  CHECK(outcome_of(stage.run("demo", "ECHO after")) == "succeeded");
  check_whole(stage, "demo", {refused});
}

SCENARIO(
  "B68: a quota that is used up refuses work with its cause, can be read, and heals by itself") {
  const temp_dir place;
  const std::string used_up = place / "used-up";
  scene stage({.environment = {{"LD_PRELOAD", program("libexhausted_quota.so")},
                               {"EXHAUSTED_QUOTA_FILE", used_up}}});
  CHECK(outcome_of(stage.run("demo", "ECHO before")) == "succeeded");
  for (int round = 0; round < 2; ++round) {
    INFO("round " << round);
    const auto before = stage.events("demo");
    write_file(used_up, "");
    const auto refusals = [&] { return std::filesystem::file_size(used_up); };
    for (int i = 0; i < 3; ++i) {
      const auto refused = stage.client.post(
        of("demo", "turns"), json::object({{"prompt", "TOOL touch must-not-exist"}}));
      INFO(refused.body);
      // What the first one wrote is not known; of the others nothing was.
      CHECK(refused.status == (i == 0 ? 500 : 503));
      CHECK(refused.body.find("quota") != std::string::npos);
    }
    for (int attempts = 0; attempts < 2; ++attempts) { // of the log to go on by itself
      const auto so_far = refusals();
      CHECK(poll_until([&] { return refusals() > so_far; }));
      CHECK(stage.events("demo") == before);
    }
    const auto ready = stage.client.get("/ready");
    INFO(ready.body);
    CHECK(ready.status == 503);
    CHECK(ready.body.find("quota") != std::string::npos);
    CHECK(stage.client.get("/health").status == 200);
    CHECK(metric(stage.client.get("/metrics").body, "tidemark_log_accepting") == Approx(0));
    std::filesystem::remove(used_up);
    CHECK(poll_until([&] { return stage.client.get("/ready").status == 200; }, seconds(60)));
    CHECK(outcome_of(stage.run("demo", "ECHO after")) == "succeeded");
  }
  CHECK_FALSE(std::filesystem::exists(stage.server.workspace("demo") + "/must-not-exist"));
  const auto before = stage.events("demo");
  stage.kill_and_restart();
  const auto after = stage.events("demo");
  REQUIRE(after.size() >= before.size());
  CHECK(std::equal(before.begin(), before.end(), after.begin()));
  check_whole(stage, "demo", {});
}

SCENARIO("a server that gets no more memory refuses or ends, and loses nothing acknowledged") {
  scene stage;
  stage.run("demo", "ECHO before");
  std::vector<std::string> acknowledged;
  std::string statuses;
  {
    const auto used = status_figure(stage.server.pid(), "VmData") << 10;
    const taken_away memory(stage.server.pid(), RLIMIT_DATA, used + (24U << 20));
    for (int i = 0; i < 5 && process_alive(stage.server.pid()); ++i) {
      const auto reply = stage.client.post(
        of("demo", "turns"), json::object({{"prompt", "ECHO x\n" + std::string(6U << 20, 'x')}}));
      statuses += " " + std::to_string(reply.status);
      if (reply.status == 202) {
        acknowledged.push_back(string_or(reply.parsed(), "turn"));
      }
    }
  }
  WARN("the server " << (process_alive(stage.server.pid()) ? "goes on" : "has ended") << ", "
                     << acknowledged.size()
                     << " of 5 turns of 6 MiB were acknowledged:" << statuses);
  INFO(stage.server.output());
  stage.kill_and_restart();
  for (const auto& turn : acknowledged) {
    stage.completion("demo", turn, seconds(60));
  }
  check_whole(stage, "demo", acknowledged);
  CHECK(outcome_of(stage.run("demo", "ECHO after")) == "succeeded");
}
