// Backups of a busy server, archives of them, and a server that is started on a restored log to look at it.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/webhook_receiver.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace tidemark;
using namespace tidemark::test;
namespace fs = std::filesystem;

namespace {

/// Puts the newest backup in the place of the stopped server's data.
void restore_in_place(scene& stage, const std::string& source) {
  fs::remove_all(stage.server.path("data"));
  const auto done = run_command(stage, "restore " + source);
  INFO(done.out);
  REQUIRE(done.code == 0);
}

std::string place_of(const json& event) {
  return std::to_string(int_or(event, "epoch", 0)) + "-"
         + std::to_string(int_or(event, "offset", 0));
}

std::size_t turns_in(const scene& stage, const std::string& state) {
  const auto listed = stage.client.get(of("demo", "turns")).parsed();
  return static_cast<std::size_t>(std::ranges::count_if(
    array_at(listed, "turns"), [&](const json& t) { return string_or(t, "status") == state; }));
}

} // namespace

SCENARIO("a backup in one file is written by a running server, unpacked by tar, and restored") {
  scene stage;
  stage.run("demo", "HUGE 1000000\nECHO hello");
  const auto file = stage.server.path("log.tar.zst");
  const auto made = run_command(stage, "backup log.tar.zst");
  INFO(made.out);
  REQUIRE(made.code == 0);
  CHECK(fs::exists(file));
  CHECK_FALSE(fs::exists(file + ".part"));
  CHECK(run_command(stage, "backup log.tar.zst").code == 1);
  CHECK(run_command(stage, "backup log.tar.zst --overwrite").code == 0);
  const auto checked = run_command(stage, "backup --verify log.tar.zst");
  CHECK(checked.code == 0);
  CHECK_THAT(checked.out, Catch::Contains("every file is whole"));
  const auto before = stage.events("demo");
  stage.run("demo", "ECHO lost");
  const auto lost = stage.events("demo").back();
  stage.server.terminate();

  GIVEN("a directory that tar made of it") {
    fs::create_directories(stage.server.path("unpacked"));
    REQUIRE(std::system(("tar --zstd -xf " + file + " -C " + stage.server.path("unpacked")).c_str())
            == 0);
    const auto whole = run_command(stage, "backup --verify unpacked");
    INFO(whole.out);
    CHECK(whole.code == 0);
    restore_in_place(stage, "unpacked");
  }
  GIVEN("the file itself") {
    restore_in_place(stage, "log.tar.zst");
  }
  CHECK(run_command(stage, "restore log.tar.zst").code == 1); // it is not empty any more
  stage.server.start();
  stage.reconnect();
  const auto after = stage.events("demo");
  REQUIRE(after.size() >= before.size());
  for (std::size_t i = 0; i < before.size(); ++i)
    CHECK(string_or(after[i], "hash") == string_or(before[i], "hash"));
  CHECK(bool_or(stage.client.get(of("demo", "verify")).parsed(), "ok", false));
  CHECK(stage.client.get(of("demo", "events?after=" + place_of(lost))).status == 409);
}

SCENARIO("a restore from a damaged or an older file than asked for leaves no log that a server "
         "starts on") {
  scene stage;
  stage.run("demo", "ECHO hello");
  REQUIRE(run_command(stage, "backup log.tar.zst").code == 0);
  const auto late = run_command(stage, "restore log.tar.zst --at 2001-01-01 --data-dir "
                                         + stage.server.path("early"));
  CHECK(late.code == 1);
  CHECK_FALSE(fs::exists(stage.server.path("early")));
  fs::resize_file(stage.server.path("log.tar.zst"),
                  fs::file_size(stage.server.path("log.tar.zst")) / 2);
  CHECK(run_command(stage, "backup --verify log.tar.zst").code == 1);
  CHECK(run_command(stage, "restore log.tar.zst --data-dir " + stage.server.path("half")).code
        == 1);
  const auto refused =
    run_command(stage, "verify demo --offline --data-dir " + stage.server.path("half"));
  CHECK(refused.code != 0);
}

SCENARIO("backups that are made while writers write and retention removes are all whole") {
  server_options how;
  how.arguments = {"--retain-turns", "2", "--retain-sweep", "20ms"};
  scene stage(how);
  for (int i = 0; i < 5; ++i) {
    stage.submit("w1", "WORDS 400"); // is written while the others end, rest, and are cut
    stage.submit("w2", "WORDS 400");
    stage.run("w0", "WORDS 60");
    const auto done = run_command(stage, "backup backups");
    INFO(done.out);
    CHECK(done.code == 0);
  }
  CHECK(run_command(stage, "backup log.tar.zst").code == 0);
  REQUIRE(poll_until([&] { return !stage.events("w0", "types=events.removed").empty(); },
                     std::chrono::seconds{60}));
  CHECK(run_command(stage, "backup backups").code == 0);
  const auto checked = run_command(stage, "backup --verify backups");
  INFO(checked.out);
  CHECK(checked.code == 0);
  const auto cursor = stage.events("w0").back();
  const bool from_file = GENERATE(false, true);
  CAPTURE(from_file);
  stage.server.terminate();
  restore_in_place(stage, from_file ? "log.tar.zst" : "backups");
  stage.server.start();
  stage.reconnect();
  for (const auto* workspace : {"w0", "w1", "w2"}) {
    INFO(workspace);
    const auto report = stage.client.get(of(workspace, "verify")).parsed();
    CHECK(bool_or(report, "ok", false));
    CHECK(int_or(report, "epoch", 0) > 1'000'000);
    CHECK(outcome_of(stage.run(workspace, "ECHO again")) == "succeeded");
    CHECK(bool_or(stage.client.get(of(workspace, "verify")).parsed(), "ok", false));
  }
  sse_reader reader{stage.client,
                    of("w0", "events?after=" + place_of(cursor)),
                    {.headers = {{"Accept", "text/event-stream"}}}};
  REQUIRE(reader.wait_for("gap"));
  std::string reason;
  for (const auto& frame : reader.all())
    if (frame.event == "gap")
      reason = string_or(frame.parsed(), "reason");
  CHECK(reason == "epoch");
}

SCENARIO(
  "a passive server on a restored log starts no task, sends no webhook and removes nothing") {
  webhook_receiver receiver;
  server_options how;
  how.environment["TIDEMARK_WEBHOOKS_ALLOW_PRIVATE"] = "true";
  how.environment["TIDEMARK_WEBHOOKS_FIRST_RETRY"] = "20ms";
  how.environment["TIDEMARK_RETAIN_SWEEP"] = "20ms";
  scene stage(how);
  stage.run("demo", "ECHO one");
  stage.run("demo", "ECHO two");
  auto hook = json::object({{"url", receiver.url()}, {"secret", "a secret of the test"}});
  REQUIRE(stage.client
            .send({.method = "PUT",
                   .path = of("demo", "webhooks/hook"),
                   .body = dump_json(hook),
                   .headers = {{"Content-Type", "application/json"}}})
            .status
          == 201);
  const auto running = stage.submit("demo", "TOOL touch started\nPAUSE 60000");
  stage.submit("demo", "TOOL touch ran-by-itself");
  REQUIRE(
    poll_until([&] { return turns_in(stage, "running") == 1 && turns_in(stage, "queued") == 1; }));
  receiver.answer_with(503); // what it has not taken yet must not come in the drill
  REQUIRE(run_command(stage, "backup backups").code == 0);
  stage.server.kill();
  restore_in_place(stage, "backups");
  stage.server.set_environment("TIDEMARK_SERVER_PASSIVE", "true");
  stage.server.set_environment("TIDEMARK_RETAIN_TURNS", "1");
  receiver.answer_with(200);
  const auto pushed = receiver.all().size();
  stage.server.start();
  stage.reconnect();

  CHECK(outcome_of(stage.completion("demo", running)) == "interrupted");
  stage.submit("demo", "ECHO three");
  CHECK(turns_in(stage, "queued") == 2);
  CHECK(bool_or(stage.client.get(of("demo", "verify")).parsed(), "ok", false));
  stage.kill_and_restart();
  CHECK(turns_in(stage, "queued") == 2);
  CHECK(stage.client.get("/ready").status == 200);
  CHECK(receiver.all().size() == pushed);
  CHECK(stage.events("demo", "types=events.removed").empty());
  CHECK_FALSE(fs::exists(stage.server.workspace("demo") + "/ran-by-itself"));

  THEN("the same server does all three when it is passive no more") {
    stage.server.set_environment("TIDEMARK_SERVER_PASSIVE", "false");
    stage.kill_and_restart();
    CHECK(receiver.wait([&](const auto& so_far) { return so_far.size() > pushed; }));
    CHECK(
      poll_until([&] { return fs::exists(stage.server.workspace("demo") + "/ran-by-itself"); }));
    CHECK(poll_until([&] { return turns_in(stage, "queued") == 0; }));
    CHECK(poll_until([&] { return !stage.events("demo", "types=events.removed").empty(); }));
  }
}
