// The real Claude Code CLI under Tidemark, against our stand-in for the Messages API: nothing leaves
// the machine. Skipped, loudly, if the CLI is not installed.
#include "tests/integration/scene.hpp"
#include "tests/support/claude_cli.hpp"
#include "tests/support/model_stand_in.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <iostream>
#include <system_error>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

struct claude_scene {
  explicit claude_scene(const std::string& claude)
    : model(model_script()),
      stage({.environment = claude_environment(claude, directory / "settings.json", model.url())}) {
  }

  temp_dir directory;
  model_stand_in model;
  scene stage;
};

// Runs the body with a scene, or says loudly that it cannot.
template <class Body>
void with_claude(Body body) {
  const std::string claude = installed_claude();
  if (claude.empty()) {
    std::cerr << '\n' << claude_advice() << std::endl;
    return;
  }
  claude_scene with(claude);
  body(with.stage);
}

json run(scene& stage, const std::string& prompt) {
  const std::string turn = stage.submit("demo", prompt);
  json completed = stage.completion("demo", turn, seconds(90));
  INFO(stage.client.get(of("demo", "events?limit=1000&raw=true")).body);
  INFO(stage.server.output());
  CHECK(string_or(data_of(completed), "outcome") != "");
  return completed;
}

/// Whether a file of this name, somewhere below `directory`, holds `text`.
bool is_written(const std::filesystem::path& directory, const std::string& name,
                const std::string& text) {
  std::error_code failed;
  for (std::filesystem::recursive_directory_iterator at{directory, failed}, end;
       !failed && at != end; at.increment(failed))
    if (at->path().filename() == name && read_file(at->path()).find(text) != std::string::npos)
      return true;
  return false;
}

} // namespace

SCENARIO("the real CLI answers with text") {
  with_claude([](scene& stage) {
    const json completed = run(stage, "Hello");
    INFO(completed.dump());
    CHECK(string_or(data_of(completed), "outcome") == "succeeded");
    CHECK(string_or(data_of(completed), "text") == "Hello from the stand-in.");
    const auto events = stage.events("demo");
    CHECK(dense_from(events, 1));
    CHECK(count_of(events, "session.started") == 1);
    CHECK(count_of(events, "agent.opaque") == 0);
  });
}

SCENARIO("the real CLI runs a tool that changes a file of its workspace") {
  with_claude([](scene& stage) {
    sse_reader reader(stage.client, message_stream_path,
                      message_stream("demo", "TOOL echo made by a tool > made.txt; cat made.txt"));
    REQUIRE(reader.wait_for_end(seconds(90)));
    INFO(reader.raw());
    CHECK(of_type(reader.all(), "error").empty());
    CHECK(joined_chunks(reader.all()) == "I will run it.\n\nIt is done.");
    REQUIRE(of_type(reader.all(), "tool_result").size() == 1);
    CHECK(string_or(of_type(reader.all(), "tool_result").front(), "content") == "made by a tool");
    CHECK(read_file(stage.server.workspace("demo") + "/made.txt") == "made by a tool\n");
  });
}

SCENARIO(
  "the real CLI continues its conversation in the same process, and after a server restart") {
  with_claude([](scene& stage) {
    const json first = run(stage, "Hello");
    const json second = run(stage, "Hello again");
    CHECK(string_or(data_of(second), "outcome") == "succeeded");
    const auto session_of = [&](const json& completed) {
      const json started = stage.await_event("demo", "turn.started", string_or(completed, "turn"));
      return started;
    };
    const auto pid = [](const json& e) {
      return int_or(object_at(data_of(e), "agent"), "pid", -1);
    };
    CHECK(pid(session_of(first)) == pid(session_of(second)));
    const json before = stage.client.get("/api/v1/sessions/demo").parsed();
    REQUIRE_FALSE(string_or(before, "session_id").empty());
    // The CLI writes its conversation down some time after it has answered.
    const auto name = string_or(before, "session_id") + ".jsonl";
    REQUIRE(poll_until([&] { return is_written(stage.server.path(""), name, "Hello again"); }));
    stage.kill_and_restart();
    const json third = run(stage, "And again");
    INFO(third.dump());
    CHECK(string_or(data_of(third), "outcome") == "succeeded");
    CHECK(stage.client.get("/api/v1/sessions/demo").parsed() == before);
    CHECK(count_of(stage.events("demo"), "session.lost") == 0);
  });
}

SCENARIO("the real CLI is interrupted in-band and takes the next turn") {
  with_claude([](scene& stage) {
    const std::string turn = stage.submit("demo", "WORDS 2000 50");
    stage.await_event("demo", "item.delta", turn, seconds(60));
    const auto before = std::chrono::steady_clock::now();
    CHECK(stage.client.post(of("demo", "turns/" + turn + "/interrupt")).status < 300);
    const json completed = stage.completion("demo", turn, seconds(20));
    CHECK(std::chrono::steady_clock::now() - before < seconds(5));
    const std::string outcome = string_or(data_of(completed), "outcome");
    CHECK((outcome == "interrupted" || outcome == "cancelled"));
    CHECK(string_or(data_of(run(stage, "Hello")), "outcome") == "succeeded");
  });
}

SCENARIO("an overloaded API is a failed turn that says so, with its retries visible") {
  with_claude([](scene& stage) {
    const json completed = run(stage, "OVERLOAD");
    INFO(completed.dump());
    CHECK(string_or(data_of(completed), "outcome") == "failed");
    const json& why = object_at(data_of(completed), "error");
    CHECK(string_or(why, "message").find("529") != std::string::npos);
    CHECK(count_of(stage.events("demo"), "agent.retrying") >= 1);
  });
}
