// What happened in all workspaces: the audit feed and the commands that ask it.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/text.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

using namespace tidemark;
using namespace tidemark::test;
using namespace std::chrono_literals;

namespace {

std::vector<json> asked(const scene& stage, const std::string& query) {
  const json page = stage.client.get("/api/v1/events?" + query).parsed();
  CHECK(bool_or(page, "complete", false));
  const auto& events = array_at(page, "events");
  return {events.begin(), events.end()};
}

std::vector<std::string> workspaces_of(const std::vector<json>& events) {
  std::vector<std::string> names;
  for (const auto& e : events)
    names.push_back(string_or(e, "workspace"));
  return names;
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

} // namespace

SCENARIO("an auditor finds failures, tools and turns of all workspaces, also after a restart") {
  scene stage;
  stage.run("good", "TOOL echo found me");
  const json failed = stage.run("bad", "ERROR it broke");
  stage.run("good", "hello");
  for (const bool restarted : {false, true}) {
    if (restarted)
      stage.kill_and_restart();
    const auto failures = asked(stage, "types=turn.completed&outcome=failed");
    REQUIRE(failures.size() == 1);
    CHECK(string_or(failures[0], "turn") == string_or(failed, "turn"));
    CHECK(workspaces_of(asked(stage, "tool=Bash&types=item.completed"))
          == std::vector<std::string>{"good"});
    CHECK(asked(stage, "turn=" + string_or(failed, "turn")).size()
          == stage.events("bad", "turn=" + string_or(failed, "turn")).size());
    CHECK(asked(stage, "workspace=good,bad&limit=10000").size()
          == stage.events("good").size() + stage.events("bad").size());
    CHECK_FALSE(asked(stage, "text=found%20me&workspace=good").empty());
    CHECK(asked(stage, "from=2100-01-01").empty());
    const auto newest = asked(stage, "order=newest&types=turn.completed");
    CHECK(workspaces_of(newest) == std::vector<std::string>{"good", "bad", "good"});
  }
}

SCENARIO(
  "a follower of all workspaces misses and repeats nothing, over drops and a killed server") {
  scene stage;
  std::vector<std::uint64_t> seen;
  std::string last;
  const auto follow = [&](std::size_t until) {
    sse_reader::options how;
    how.headers = {{"Accept", "text/event-stream"}};
    if (!last.empty())
      how.headers.emplace("Last-Event-ID", last);
    sse_reader reader(stage.client, "/api/v1/events", how);
    CHECK(reader.wait([&](const auto& frames) {
      return std::count_if(frames.begin(), frames.end(),
                           [](const auto& f) { return !f.id.empty(); })
             >= static_cast<std::ptrdiff_t>(until - seen.size());
    }));
    for (const auto& frame : reader.all()) {
      if (frame.id.empty())
        continue;
      last = frame.id;
      seen.push_back(static_cast<std::uint64_t>(int_or(*parse_json(frame.data), "position", 0)));
    }
  };
  stage.run("one", "hello");
  follow(5);
  stage.run("two", "WORDS 20");
  stage.kill_and_restart();
  stage.run("one", "hello");
  const auto head = static_cast<std::size_t>(
    int_or(stage.client.get("/api/v1/events?limit=1").parsed(), "head", 0));
  follow(head);
  REQUIRE(seen.size() >= head);
  for (std::size_t i = 0; i < seen.size(); ++i)
    REQUIRE(seen[i] == i + 1);
}

SCENARIO("commands ask the audit feed: events, turns, show") {
  scene stage;
  stage.run("docs", "TOOL echo found me");
  const json failed = stage.run("other", "ERROR it broke");
  const auto all = asked(stage, "limit=10000");

  const auto text = run_command(stage, "events --since 1h --outcome failed");
  INFO(text.out);
  CHECK(text.code == 0);
  CHECK(lines_in(text.out) == 1);
  CHECK(has(text.out, "other"));

  const auto csv = run_command(stage, "events --format csv --workspace docs,other");
  CHECK(has(csv.out, "time,workspace,epoch,offset,position,type,turn,tool,outcome,data\r\n"));
  CHECK(lines_in(csv.out) == all.size() + 1);

  const auto exported = run_command(stage, "events --format ndjson -o all.ndjson");
  CHECK(has(exported.out, std::to_string(all.size()) + " events written"));
  std::istringstream lines(read_file(stage.server.path("all.ndjson")));
  std::size_t position = 0;
  for (std::string line; std::getline(lines, line);)
    CHECK(int_or(*parse_json(line), "position", 0) == static_cast<std::int64_t>(++position));
  CHECK(position == all.size());

  CHECK(lines_in(run_command(stage, "events --newest -n 3").out) == 3);
  CHECK(run_command(stage, "events --since yesterday").code == 2);

  const auto turns = run_command(stage, "turns other");
  CHECK(has(turns.out, string_or(failed, "turn")));
  CHECK(has(turns.out, "failed"));
  const auto shown = run_command(stage, "show " + string_or(failed, "turn"));
  CHECK(has(shown.out, "> ERROR it broke"));
  CHECK(has(shown.out, "failed in"));
  const auto turn = string_or(asked(stage, "types=turn.completed&workspace=docs")[0], "turn");
  CHECK(has(run_command(stage, "show " + turn).out, "→ Bash\n  │ echo found me\n"));
  CHECK(run_command(stage, "show nothing").code != 0);
}
