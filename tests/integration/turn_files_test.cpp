// What a turn changed in the files of its workspace (agent.snapshots, `tidemark diff`).
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/temp_dir.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

using namespace tidemark;
using namespace tidemark::test;
using namespace std::chrono_literals;

namespace {

const std::map<std::string, std::string> recording{{"TIDEMARK_AGENT_SNAPSHOTS", "true"}};

/// The `data` of the event that tells what the turn changed.
json changes_of(const scene& stage, const std::string& workspace, const std::string& turn) {
  const auto found = stage.events(workspace, "types=turn.changes&turn=" + turn);
  REQUIRE(found.size() == 1);
  return data_of(found[0]);
}

/// `created a.txt, changed b/c.txt`, in the order of paths.
std::string named(const json& changes) {
  std::string out;
  for (const auto& file : changes["files"])
    out += (out.empty() ? "" : ", ") + file["change"].get<std::string>() + " "
           + file["path"].get<std::string>();
  return out;
}

std::string run_turn(scene& stage, const std::string& workspace, const std::string& prompt) {
  const auto turn = stage.submit(workspace, prompt);
  stage.completion(workspace, turn);
  return turn;
}

std::string patch_of(const scene& stage, const std::string& workspace, const std::string& turn) {
  const auto answer = stage.client.get(of(workspace, "turns/" + turn + "/diff"));
  REQUIRE(answer.status == 200);
  return answer.body;
}

/// A directory with a `git` in it that does this.
std::string path_with_git(const temp_dir& at, const std::string& script) {
  const auto file = at / "git";
  write_file(file, "#!/bin/sh\n" + script + "\n");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return at.path() + ":/usr/bin:/bin";
}

} // namespace

SCENARIO(
  "a turn's event names the files that it created, changed and deleted, and diff shows them") {
  scene stage({.environment = recording});
  const auto first =
    run_turn(stage, "demo", "TOOL mkdir sub; printf 'a\\nb\\n' > sub/old.txt; echo x > gone");
  CHECK(named(changes_of(stage, "demo", first)) == "created gone, created sub/old.txt");
  const auto second =
    run_turn(stage, "demo", "TOOL echo c >> sub/old.txt; rm gone; head -c 9 /dev/zero > bin");
  const auto changes = changes_of(stage, "demo", second);
  CHECK(named(changes) == "created bin, deleted gone, changed sub/old.txt");
  CHECK(changes["count"] == 3);
  CHECK(changes["incomplete"] == false);
  CHECK(changes["files"][2]["added"] == 1);
  CHECK(changes["files"][2]["removed"] == 0);
  CHECK(changes["files"][0]["added"].is_null());
  const auto patch = patch_of(stage, "demo", second);
  CHECK(patch.find("+++ b/sub/old.txt\n@@ -1,2 +1,3 @@\n a\n b\n+c\n") != std::string::npos);
  CHECK(run_command(stage, "diff " + second).out == patch);
  const auto names = run_command(stage, "diff --stat " + second);
  CHECK(names.code == 0);
  CHECK(names.out == "created  bin\ndeleted  gone +0 -1\nchanged  sub/old.txt +1 -0\n");
  const auto nothing = run_turn(stage, "demo", "ECHO hello");
  CHECK(changes_of(stage, "demo", nothing)["count"] == 0);
  CHECK(patch_of(stage, "demo", nothing).empty());
}

SCENARIO("repositories in a workspace are looked into, left alone, and run nothing") {
  scene stage({.environment = recording});
  const auto first = run_turn(
    stage, "demo",
    "TOOL git init -q own; git init -q 'with space'; cd own; git config filter.x.clean 'touch "
    "../ran'; "
    "git config core.fsmonitor 'touch ../ran'; echo '* filter=x text eol=crlf' > .gitattributes; "
    "printf 'a\\r\\n' > f; echo build > .gitignore; mkdir build; echo o > build/o; echo 1 > "
    "'../with space/n'");
  CHECK(
    named(changes_of(stage, "demo", first))
    == "created own/.gitattributes, created own/.gitignore, created own/f, created with space/n");
  const auto second = run_turn(stage, "demo", "TOOL ls; echo b >> own/f; rm -rf 'with space'");
  CHECK(named(changes_of(stage, "demo", second)) == "changed own/f, deleted with space/n");
  CHECK(patch_of(stage, "demo", second).find("+++ b/own/f\n@@ -1 +1,2 @@\n a\r\n+b\n")
        != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(stage.server.workspace("demo") + "/ran")); // git of ours
  const auto third = run_turn(stage, "demo", "TOOL ls; git -C own status --porcelain --branch");
  const auto looked = stage.events("demo", "types=item.completed&turn=" + third);
  const auto seen = std::any_of(looked.begin(), looked.end(), [](const json& e) {
    return e.dump().find("No commits yet") != std::string::npos;
  });
  CHECK(seen); // nothing was added to its index
}

SCENARIO("known secrets in files are masked in what diff shows") {
  scene stage({.environment = {{"TIDEMARK_AGENT_SNAPSHOTS", "true"},
                               {"SOME_API_KEY", "a-key-that-nobody-may-see"}}});
  const auto turn =
    run_turn(stage, "demo", "TOOL printf 'a-key-that-no' > f; echo 'body-may-see' >> f");
  const auto patch = patch_of(stage, "demo", turn);
  CHECK(patch.find("+[secret]") != std::string::npos);
  CHECK(patch.find("nobody") == std::string::npos);
}

SCENARIO("without git, or with one that fails or hangs, turns run and say that it is not known") {
  const temp_dir bin;
  auto environment = recording;
  environment["TIDEMARK_AGENT_SNAPSHOT_LIMIT"] = "500ms";
  environment["PATH"] =
    path_with_git(bin, GENERATE("exit 127", "echo no >&2; exit 1", "exec sleep 600"));
  scene stage({.environment = environment});
  const auto turn = run_turn(stage, "demo", "ECHO hello");
  CHECK(outcome_of(stage.completion("demo", turn)) == "succeeded");
  CHECK_FALSE(changes_of(stage, "demo", turn)["problem"].get<std::string>().empty());
  CHECK(stage.client.get(of("demo", "turns/" + turn + "/diff")).status != 200);
  CHECK(run_command(stage, "diff " + turn).code != 0);
}

SCENARIO(
  "a turn whose files are still being recorded can be cancelled, and does not hold up the end") {
  const temp_dir bin;
  auto environment = recording;
  environment["TIDEMARK_AGENT_SNAPSHOT_LIMIT"] = "10m";
  environment["PATH"] = path_with_git(bin, "exec sleep 600");
  scene stage({.environment = environment});
  const auto turn = stage.submit("demo", "ECHO hello");
  CHECK(stage.client.remove(of("demo", "turns/" + turn)).status == 200);
  CHECK(outcome_of(stage.completion("demo", turn)) == "cancelled");
  const auto next = stage.submit("demo", "ECHO hello");
  CHECK(stage.server.terminate() == 0);
  stage.server.set_environment("TIDEMARK_AGENT_SNAPSHOTS", "false");
  stage.server.start();
  stage.reconnect();
  CHECK(!outcome_of(stage.completion("demo", next)).empty());
}

SCENARIO("without agent.snapshots nothing is recorded, and diff says how to have it") {
  scene stage;
  const auto turn = run_turn(stage, "demo", "TOOL echo a > f");
  CHECK(count_of(stage.events("demo"), "turn.changes") == 0);
  CHECK(stage.client.get(of("demo", "turns/" + turn + "/diff")).status == 501);
  const auto said = run_command(stage, "diff " + turn);
  CHECK(said.code != 0);
  CHECK(said.out.find("agent.snapshots") != std::string::npos);
}

SCENARIO("what was recorded of a turn goes with it, and the copies that nothing else needs") {
  auto environment = recording;
  environment["TIDEMARK_RETAIN_SWEEP"] = "50ms";
  scene stage({.environment = environment});
  const auto first = run_turn(stage, "demo", "TOOL echo gone-with-the-turn > a; echo stays > b");
  const auto second = run_turn(stage, "demo", "TOOL echo other > a");
  const auto third = run_turn(stage, "demo", "TOOL echo newest > a");
  const auto store = [&] {
    for (const auto& each : std::filesystem::recursive_directory_iterator{stage.server.path(".")})
      if (each.path().filename() == ".turn-files")
        return (each.path() / "demo").string();
    return std::string{};
  }();
  REQUIRE_FALSE(store.empty());
  const auto git = [&](const std::string& arguments) {
    return std::system(("git -C " + store + "/*.git " + arguments + " >/dev/null 2>&1").c_str());
  };
  const auto holds = [&](const std::string& text) {
    return git("cat-file -e $(echo " + text + " | git hash-object --stdin)") == 0;
  };
  const auto recorded = [&](const std::string& turn) {
    return git("rev-parse -q --verify refs/turns/" + turn + "/after") == 0;
  };
  REQUIRE(recorded(first));
  REQUIRE(holds("gone-with-the-turn"));
  const auto long_ago = std::filesystem::file_time_type::clock::now() - 2h; // younger copies stay
  for (const auto& each : std::filesystem::recursive_directory_iterator{store})
    if (each.is_regular_file())
      std::filesystem::last_write_time(each, long_ago);
  CHECK(run_command(stage, "retention demo --turns 1").code == 0);
  REQUIRE(test::poll_until([&] { return !recorded(first) && !holds("gone-with-the-turn"); }));
  CHECK_FALSE(recorded(second));
  CHECK(recorded(third));
  CHECK(holds("stays"));
  CHECK(holds("other"));
  CHECK(patch_of(stage, "demo", third).find("-other\n+newest\n") != std::string::npos);
}
