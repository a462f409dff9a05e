// Signed checkpoints, backups of a running server, and a server on a restored log.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace tidemark;
using namespace tidemark::test;

namespace {

std::size_t files_in(const std::filesystem::path& directory) {
  std::size_t count = 0;
  std::error_code missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{directory, missing})
    count += entry.is_regular_file() ? 1 : 0;
  return count;
}

std::string slurp(const std::string& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Puts the newest backup in the place of the stopped server's data.
void restore_over(scene& stage, const std::string& backups) {
  std::filesystem::remove_all(stage.server.path("data"));
  const auto done = run_command(stage, "restore " + backups);
  INFO(done.out);
  REQUIRE(done.code == 0);
}

} // namespace

SCENARIO(
  "a signed checkpoint proves what the log held, also to those who do not trust the server") {
  scene stage;
  stage.run("demo", "ECHO hello");
  stage.run("other", "ECHO hello");
  const auto key = stage.server.path("auditor.pem");
  const auto public_key = stage.server.path("auditor-public.pem");
  const auto made = run_command(stage, "checkpoint --new-key " + key);
  REQUIRE(made.code == 0);
  const auto begin_of_key =
    made.out.find("-----BEGIN"); // what the command says besides is here too
  const std::string end_of_key = "-----END PUBLIC KEY-----\n";
  std::ofstream{public_key} << made.out.substr(begin_of_key, made.out.find(end_of_key)
                                                               + end_of_key.size() - begin_of_key);
  CHECK((std::filesystem::status(key).permissions() & std::filesystem::perms::all)
        == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  CHECK(run_command(stage, "checkpoint --new-key " + key).code == 1); // never over another
  const auto file = stage.server.path("checkpoint.json");
  const auto taken = run_command(stage, "checkpoint --sign " + key + " -o " + file);
  INFO(taken.out);
  REQUIRE(taken.code == 0);
  CHECK_THAT(taken.out, Catch::Contains("2 workspaces") && Catch::Contains("signed"));
  const auto check = " --checkpoint " + file + " --public-key " + public_key;

  stage.run("demo", "ECHO more");
  const auto asked = run_command(stage, "verify" + check);
  INFO(asked.out);
  CHECK(asked.code == 0);
  CHECK_THAT(asked.out, Catch::Contains("2 workspaces") && Catch::Contains("nothing was altered"));
  CHECK(run_command(stage, "verify demo" + check).code == 0);
  CHECK(run_command(stage, "verify nowhere" + check).code == 1);
  CHECK(run_command(stage, "verify" + check + " --offline").code == 4); // a server runs on it
  const auto verified = stage.client.get(of("demo", "verify?to=1")).parsed();
  CHECK(string_or(verified, "hash").size() == 64);
  CHECK(stage.client.get(of("demo", "verify?to=x")).status == 400);

  stage.server.terminate();
  const auto proven = run_command(stage, "verify" + check + " --offline");
  INFO(proven.out);
  CHECK(proven.code == 0);

  GIVEN("an altered checkpoint") {
    auto text = slurp(file);
    text.replace(text.find("\"head\":"), 8, "\"head\":1");
    std::ofstream{file} << text;
    const auto altered = run_command(stage, "verify" + check + " --offline");
    CHECK(altered.code == 1);
    CHECK_THAT(altered.out, Catch::Contains("altered after it was signed"));
  }
  GIVEN("a log that was begun anew") {
    std::filesystem::remove_all(stage.server.path("data"));
    stage.server.start();
    stage.reconnect();
    stage.run("demo", "ECHO hello");
    const auto found = run_command(stage, "verify" + check);
    INFO(found.out);
    CHECK(found.code == 1);
    CHECK_THAT(found.out, Catch::Contains("demo was ") && Catch::Contains("other is missing"));
  }
}

SCENARIO(
  "a backup that is made while a task runs holds every event that was acknowledged before it") {
  scene stage;
  const auto backups = stage.server.path("backups");
  stage.run("demo", "ECHO hello");
  const auto first = run_command(stage, "backup " + backups);
  INFO(first.out);
  REQUIRE(first.code == 0);
  const auto stored = files_in(backups + "/objects");
  CHECK(stored > 4);
  CHECK(files_in(stage.server.path("data/backup-staging")) == 0);

  stage.submit("busy", "WORDS 3000 3"); // some seconds of events, a few milliseconds apart
  REQUIRE(poll_until([&] { return stage.events("busy").size() > 20; }));
  const auto before = stage.events("busy");
  const auto second = run_command(stage, "backup " + backups);
  INFO(second.out);
  REQUIRE(second.code == 0);
  const auto cursor = stage.events("busy").back(); // of what is lost
  const auto old_hash = string_or(before.back(), "hash");

  const auto checked = run_command(stage, "backup --verify " + backups);
  INFO(checked.out);
  CHECK(checked.code == 0);
  CHECK_THAT(checked.out, Catch::Contains("all hash chains hold"));

  stage.server.terminate();
  restore_over(stage, backups);
  CHECK(run_command(stage, "restore " + backups).code == 1); // it is not empty any more
  stage.server.start();
  stage.reconnect();
  const auto after = stage.events("busy");
  REQUIRE(after.size() >= before.size());
  CHECK(string_or(after[before.size() - 1], "hash") == old_hash);
  CHECK(dense_from(after, 1));
  const auto verified = stage.client.get(of("busy", "verify")).parsed();
  CHECK(bool_or(verified, "ok", false));
  CHECK(array_at(verified, "past_epochs").size() == 1);
  CHECK(outcome_of(stage.run("demo", "ECHO again")) == "succeeded");
  CHECK(bool_or(stage.client.get(of("demo", "verify")).parsed(), "ok", false));

  THEN("a reader of the lost history is told, and one of all workspaces too") {
    const auto place = std::to_string(int_or(cursor, "epoch", 0)) + "-"
                       + std::to_string(int_or(cursor, "offset", 0));
    sse_reader reader{stage.client,
                      of("busy", "events?after=" + place),
                      {.headers = {{"Accept", "text/event-stream"}}}};
    REQUIRE(reader.wait_for("gap"));
    std::string reason;
    for (const auto& frame : reader.all())
      if (frame.event == "gap")
        reason = string_or(frame.parsed(), "reason");
    CHECK(reason == "epoch");
    CHECK(reader.wait([&](const sse_reader::frames& frames) {
      return std::ranges::any_of(frames, [](const sse_frame& f) { return f.offset() == 1; });
    }));
    CHECK(stage.client.get(of("busy", "events?after=" + place)).status == 409);
    CHECK(stage.client.get("/api/v1/events?after=1-1").status == 409);
  }
  THEN("a new workspace has no epoch that the lost history can have had") {
    stage.run("fresh", "ECHO hello");
    CHECK(int_or(stage.events("fresh").front(), "epoch", 0) > 1'000'000);
  }
}

SCENARIO("a backup that follows another fetches only what is new") {
  scene stage;
  const auto backups = stage.server.path("backups");
  stage.run("demo", "ECHO hello");
  REQUIRE(run_command(stage, "backup " + backups).code == 0);
  const auto manifests = std::filesystem::directory_iterator{backups + "/backups"};
  const auto first = parse_json(slurp(begin(manifests)->path().string()));
  stage.run("demo", "ECHO again");
  const auto before = files_in(backups + "/objects");
  const auto second = run_command(stage, "backup " + backups);
  INFO(second.out);
  REQUIRE(second.code == 0);
  const auto added = files_in(backups + "/objects") - before;
  CHECK(added < array_at(*first, "files").size());
  CHECK_THAT(second.out, Catch::Contains(std::to_string(added) + " of "));
}

SCENARIO("a copy that was being fetched when the server was killed is gone at its next start") {
  scene stage;
  stage.run("demo", "ECHO hello");
  const auto made = stage.client.post("/api/v1/backup");
  REQUIRE(made.status == 201);
  const auto id = string_or(made.parsed(), "id");
  const auto file = array_at(made.parsed(), "files").front();
  const auto path = "/api/v1/backup/" + id + "/files/" + string_or(file, "sha256");
  const auto whole = stage.client.get(path);
  CHECK(whole.status == 200);
  CHECK(static_cast<std::int64_t>(whole.body.size()) == int_or(file, "bytes", -1));
  const auto rest = stage.client.send({.path = path, .headers = {{"Range", "bytes=3-"}}});
  CHECK(rest.status == 206);
  CHECK(rest.body == whole.body.substr(3));
  CHECK(stage.client.send({.path = path, .headers = {{"Range", "bytes=1-2"}}}).status == 400);
  CHECK(stage.client.send({.path = path, .headers = {{"Range", "bytes=999999999-"}}}).status
        == 416);
  CHECK(stage.client.get("/api/v1/backup/" + id + "/files/CURRENT").status == 400);
  CHECK(stage.client.get("/api/v1/backup/nothing/files/" + std::string(64, '0')).status == 404);
  CHECK(files_in(stage.server.path("data/backup-staging")) > 0);
  stage.kill_and_restart();
  CHECK(files_in(stage.server.path("data/backup-staging")) == 0);
  CHECK(stage.client.get(path).status == 404);
  CHECK(bool_or(stage.client.get(of("demo", "verify")).parsed(), "ok", false));
}
