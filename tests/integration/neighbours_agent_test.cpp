// Failures that nobody has reported yet, beside those that somebody has: agents, their files and
// the server's own. docs/neighbours.md lists them.
#include "tests/integration/contract_scene.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/process_memory.hpp"
#include "tests/support/sanitized.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

namespace fs = std::filesystem;

const std::string init_line =
  R"({"type":"system","subtype":"init","session_id":"s-1","model":"m","tools":["Read"]})";

std::string text_line(const std::string& text) {
  return R"({"type":"assistant","session_id":"s-1","message":{"role":"assistant","content":)"
         R"([{"type":"text","text":")"
         + text + R"("}]}})";
}

std::string result_line(const std::string& text, const std::string& session = "s-1") {
  return R"({"type":"result","subtype":"success","is_error":false,"result":")" + text
         + R"(","session_id":")" + session + R"(","usage":{},"permission_denials":[]})";
}

/// A shell script that says a line.
std::string say(const std::string& line) {
  return "echo '" + line + "'\n";
}

/// An agent that does `each` for each prompt, after `init`.
stand_in_agent agent_that(const std::string& each) {
  return stand_in_agent([&](const std::string&, const std::string&) {
    return "[ \"$1\" = --version ] && { echo '2.1.0 (stand-in)'; exit 0; }\n"
           "while read -r prompt; do\n"
           + say(init_line) + each + "done\n";
  });
}

} // namespace

// The protocol does not say which prompt a result answers: one that is as late as to come within the
// next turn would end that one, so each turn here waits until it has come.
SCENARIO(
  "neighbour of B01: a second result, at once or between turns, ends no turn, least of all the "
  "next one") {
  const auto agent =
    agent_that(say(text_line("first")) + say(result_line("first")) + say(result_line("again"))
               + "sleep 0.2\n" + say(result_line("late")) + "echo >> late\n");
  scene stage({.environment = agent.environment()});
  for (std::size_t turns = 1; turns <= 3; ++turns) {
    const json completed = stage.run("demo", "go");
    CHECK(outcome_of(completed) == "succeeded");
    CHECK(text_of(completed) == "first");
    CHECK(poll_until(
      [&] { return read_file(stage.server.workspace("demo") + "/late").size() == turns; }));
  }
  CHECK(count_of(stage.events("demo"), "turn.completed") == 3);
}

SCENARIO("neighbour of B04: a helper that holds stderr alone delays neither a result nor an end "
         "without one") {
  const auto agent = agent_that("case \"$prompt\" in *fail*) " + std::string("(sleep 300 1>&-) &\n")
                                + "echo the cause >&2; exit 3;; esac\n" + say(text_line("ok"))
                                + say(result_line("ok")) + "sleep 300 1>&- &\nexit 0\n");
  scene stage({.environment = agent.environment()});
  CHECK(outcome_of(stage.run("demo", "go")) == "succeeded");
  const json failed = stage.run("demo", "fail");
  INFO(failed.dump());
  CHECK(outcome_of(failed) == "failed");
  CHECK(failed.dump().find("the cause") != std::string::npos);
  CHECK(outcome_of(stage.run("demo", "go")) == "succeeded");
}

SCENARIO("neighbour of B19: a line of 100 MB, whole or never ending, costs itself and no memory") {
  const auto agent =
    agent_that("head -c 100000000 /dev/zero | tr '\\0' x\n"
               "case \"$prompt\" in *endless*) touch said; sleep 300;; esac\necho\n"
               + say(text_line("small")) + say(result_line("small")));
  auto environment = agent.environment();
  environment["TIDEMARK_AGENT_MAX_LINE"] = "4MiB";
  scene stage({.environment = environment});
  const auto endless = stage.submit("demo", "endless");
  REQUIRE(
    poll_until([&] { return fs::exists(stage.server.workspace("demo") + "/said"); }, seconds(30)));
  CHECK(stage.client.remove(of("demo", "queue/current")).status == 200);
  CHECK(outcome_of(stage.completion("demo", endless)) == "cancelled");
  CHECK(text_of(stage.run("demo", "go")) == "small");
  CHECK((sanitized || status_figure(stage.server.pid(), "VmHWM") < 100 * 1024));
}

SCENARIO("neighbour of B25: a line nested deeper than any parser's stack is kept as noise") {
  const auto agent = agent_that("printf '{\"type\":'; head -c 200000 /dev/zero | tr '\\0' '['\n"
                                "head -c 200000 /dev/zero | tr '\\0' ']'; echo '}'\n"
                                + say(text_line("fine")) + say(result_line("fine")));
  scene stage({.environment = agent.environment()});
  CHECK(text_of(stage.run("demo", "go")) == "fine");
  CHECK(count_of(stage.events("demo"), "agent.noise") == 1);
}

SCENARIO(
  "neighbour of B09: a prompt that only as JSON is too large is refused and makes no workspace") {
  contract_scene stage({.environment = {{"TIDEMARK_HTTP_MAX_BODY", "128MiB"}}});
  // Each of these bytes takes six in an event.
  const auto prompt = std::string(12 << 20, '\x7f');
  const auto native = stage.client.post(of("native", "turns"), json::object({{"prompt", prompt}}));
  CHECK(native.status == 413);
  CHECK(native.body.find("as JSON") != std::string::npos);
  const auto v1 = stage.client.post("/api/v1/message", message("plain", prompt));
  CHECK(v1.status == 200);
  CHECK_FALSE(bool_or(v1.parsed(), "success", true));
  CHECK(string_or(object_at(v1.parsed(), "error"), "code") == "LIMIT_EXCEEDED");
  CHECK(array_at(stage.client.get("/api/v1/workspaces").parsed(), "workspaces").empty());
  CHECK_FALSE(fs::exists(stage.server.workspace("native")));
  const auto over = stage.client.post(of("native", "turns"),
                                      json::object({{"prompt", std::string(33 << 20, 'x')}}));
  CHECK(over.status == 413);
  CHECK(array_at(stage.client.get("/api/v1/workspaces").parsed(), "workspaces").empty());
}

SCENARIO("neighbour of B42: names that differ in case alone share nothing, and a workspace has one "
         "path in every answer, also below a link") {
  const temp_dir real;
  const temp_dir elsewhere;
  const auto link = elsewhere / "link";
  fs::create_directory_symlink(real.path(), link);
  contract_scene stage({.environment = {{"WORKSPACE_ROOT", link}}});
  CHECK(contract_task(stage.old, "Demo", "TOOL echo upper > file").finish().succeeded());
  CHECK(contract_task(stage.old, "demo", "TOOL cat file 2>&1 || true").finish().succeeded());
  CHECK(read_file(real / "Demo/file") == "upper\n");
  CHECK_FALSE(fs::exists(real / "demo/file"));
  const auto cwd = parse_json(contract_task(stage.old, "demo", "ENV").finish().text)->at("cwd");
  CHECK(cwd == fs::canonical(real / "demo").string());
  CHECK(stage.old.get("/api/v1/workspaces/demo", "WorkspaceInfo").at("path") == cwd);
  const auto list = stage.old.get("/api/v1/workspaces", "WorkspaceList");
  for (const auto& each : list.at("workspaces"))
    CHECK(each.at("path") == fs::canonical(real / each.at("id").get<std::string>()).string());
}

SCENARIO(
  "neighbour of B43: an agent's directory that cannot be made fails its tasks by name, until "
  "it can") {
  scene stage;
  const auto state = stage.server.path("data/agents/demo");
  fs::create_directories(fs::path(state).parent_path());
  write_file(state, "in the way");
  const json failed = stage.run("demo", "hello");
  INFO(failed.dump());
  CHECK(outcome_of(failed) == "failed");
  CHECK(string_or(object_at(data_of(failed), "error"), "message").find(state) != std::string::npos);
  CHECK(outcome_of(stage.run("other", "hello")) == "succeeded");
  fs::remove(state);
  CHECK(outcome_of(stage.run("demo", "hello")) == "succeeded");
}

SCENARIO("neighbour of B65: a restart after a kill leaves the agents of another server alone") {
  scene one;
  scene two;
  const auto left = one.submit("demo", "ORPHAN 300\nWORDS 10000 20");
  const auto kept =
    two.submit("demo", "TOOL while ! test -e go; do sleep 0.05; done; echo went on");
  const auto started = [](scene& stage, const std::string& turn) {
    return static_cast<pid_t>(int_or(
      object_at(data_of(stage.await_event("demo", "turn.started", turn)), "agent"), "pid", -1));
  };
  const auto lost = started(one, left);
  const auto other = started(two, kept);
  two.await_event("demo", "item.started", kept);
  one.kill_and_restart();
  CHECK(outcome_of(one.completion("demo", left)) == "interrupted");
  CHECK(poll_until([&] { return !process_alive(lost); }));
  CHECK(process_alive(other));
  write_file(two.server.workspace("demo") + "/go", "");
  CHECK(outcome_of(two.completion("demo", kept)) == "succeeded");
}

SCENARIO("neighbour of B69: a raw line whose file is gone is named, and the events stay readable") {
  scene stage;
  stage.run("demo", "HUGE 600000\nECHO small");
  std::vector<fs::path> blobs;
  for (const auto& entry : fs::recursive_directory_iterator(stage.server.path("data/blobs")))
    if (entry.is_regular_file())
      blobs.push_back(entry.path());
  REQUIRE(blobs.size() == 1);
  const auto content = read_file(blobs[0]);
  fs::remove(blobs[0]);
  const auto raw = stage.client.get(of("demo", "events?raw=true&limit=1000"));
  CHECK(raw.status == 500);
  CHECK(raw.body.find(blobs[0].filename()) != std::string::npos);
  CHECK(stage.events("demo").size() > 5);
  const auto verified = stage.client.get(of("demo", "verify")).parsed();
  CHECK_FALSE(bool_or(verified, "ok", true));
  const auto goes_on = [&] {
    const auto turn = stage.submit("demo", "ECHO goes on");
    return poll_until([&] {
      return count_of(stage.events("demo", "types=turn.completed&turn=" + turn), "turn.completed")
             == 1;
    });
  };
  CHECK(goes_on());
  stage.kill_and_restart();
  CHECK(goes_on());
  write_file(blobs[0], content);
  CHECK(bool_or(stage.client.get(of("demo", "verify")).parsed(), "ok", false));
}

SCENARIO("neighbour of B70: a directory reached by another name is the same one, and a lock left "
         "behind that names a living process holds nobody up") {
  scene stage;
  stage.run("demo", "hello");
  const temp_dir elsewhere;
  const auto link = elsewhere / "data";
  fs::create_directory_symlink(stage.server.path("data"), link);
  std::string refused;
  try {
    const server_process second({.environment = {{"TIDEMARK_DATA_DIR", link}}});
  } catch (const std::exception& why) {
    refused = why.what();
  }
  CHECK(refused.find("in use by process " + std::to_string(stage.server.pid()))
        != std::string::npos);
  stage.server.kill();
  write_file(stage.server.path("data/tidemark.lock"), "1\n");
  stage.server.set_environment("TIDEMARK_DATA_DIR", link);
  stage.server.start();
  stage.reconnect();
  CHECK(string_or(data_of(stage.run("demo", "hello")), "text").find("turn 2") != std::string::npos);
}

SCENARIO("neighbour of B75: names that an agent makes up stay inside their label and are bounded") {
  const auto agent = stand_in_agent([](const std::string&, const std::string&) {
    return std::string{
             "[ \"$1\" = --version ] && { echo '2.1.0 (stand-in)'; exit 0; }\nn=0\n"
             "while read -r prompt; do\n n=$((n+1))\n"
             "printf '%s\\n' '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":"
             "\"s-1\",\"tools\":[\"a\\\"} 1\"],\"model\":\"m'$n'\\\"} 1\\nevil_series 1\\\\\"}'\n"}
           + "printf '%s\\n' '" + text_line("x") + "'\nprintf '%s\\n' '" + result_line("x")
           + "'\ndone\n";
  });
  scene stage({.environment = agent.environment()});
  for (int i = 0; i < 20; ++i)
    CHECK(outcome_of(stage.run("demo", "go")) == "succeeded");
  std::istringstream lines(stage.client.get("/metrics").body);
  std::size_t models = 0;
  for (std::string line; std::getline(lines, line);) {
    CHECK_FALSE(line.starts_with("evil_series"));
    models += line.starts_with("tidemark_cost_usd_total{") ? 1 : 0;
  }
  CHECK(models <= 17);
}

SCENARIO(
  "neighbour of B14: a file that the agent is to read at start and that never ends is refused") {
  scene stage;
  const auto file = stage.server.workspace("demo") + "/.mcp.json";
  fs::create_directories(stage.server.workspace("demo"));
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  const json failed = stage.run("demo", "hello");
  CHECK(outcome_of(failed) == "failed");
  CHECK(string_or(object_at(data_of(failed), "error"), "message").find(file) != std::string::npos);
  fs::remove(file);
  write_file(file, std::string(2 << 20, ' '));
  CHECK(outcome_of(stage.run("demo", "hello")) == "failed");
  fs::remove(file);
  fs::create_symlink("/dev/zero", file);
  CHECK(outcome_of(stage.run("demo", "hello")) == "failed");
  fs::remove(file);
  CHECK(outcome_of(stage.run("demo", "hello")) == "succeeded");
}
