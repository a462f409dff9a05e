// What agents have been seen to do wrong, and what must come of it. One server runs all rows.
#include "tests/integration/scene.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/temp_dir.hpp"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <sstream>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

struct failure_row {
  const char* name;
  const char* prompt;
  const char* outcome;
  const char* code;  // of the error; nullptr: any or none
  const char* holds; // stands somewhere in the terminal event; nullptr: nothing to look for
};

const failure_row rows[] = {
  {"B07 stderr full before the first line", "STDERR 65537\nSTDERR 5000000\nECHO fine", "succeeded",
   nullptr, "fine"},
  {"B07 of a flood on stderr the end is kept", "STDERR 5000000\nEXIT 4", "failed",
   "CLAUDE_CLI_NO_PARSEABLE_OUTPUT", R"("exit_code":4)"},
  {"B19 a huge line costs only itself", "HUGE 5000000\nECHO small", "succeeded", nullptr, "small"},
  {"B19 a line of exactly 64 KiB", "HUGE 65536\nECHO small", "succeeded", nullptr, "small"},
  {"B19 written in pieces", "SPLIT 4096\nHUGE 1048577\nECHO small", "succeeded", nullptr, "small"},
  {"B21 UTF-8 one byte a write", "UTF8", "succeeded", nullptr, "한글 漢字 🙂 Grüße"},
  {"B23 noise around the protocol", "NOISE\nECHO survived", "succeeded", nullptr, "survived"},
  {"B24 half a result line, then death", "WORDS 3\nHALF 9", "failed", "NO_RESULT", R"("signal":9)"},
  {"B28 a pause in the middle of the work", "TOOL true\nPAUSE 1500\nECHO after the pause",
   "succeeded", nullptr, "after the pause"},
  {"B32 exit 0 without a word", "EXIT 0", "failed", "CLAUDE_CLI_NO_PARSEABLE_OUTPUT",
   R"("exit_code":0)"},
  {"B32 text, then exit 3 without a result", "ECHO partial\nEXIT 3", "failed", "NO_RESULT",
   R"("exit_code":3)"},
  {"B32 the text before that is kept", "ECHO partial\nEXIT 0", "failed", "NO_RESULT",
   R"("text":"partial")"},
  {"B32 killed without a result", "ECHO partial\nSIGNAL 9", "failed", "NO_RESULT", R"("signal":9)"},
  {"B33 the usage limit said as success", "LIMIT", "failed", "RATE_LIMITED",
   R"x("resets":"8pm (UTC)")x"},
  {"B33 an answer that only talks of limits", "ECHO our rate limit of 429 was hit yesterday",
   "succeeded", nullptr, nullptr},
  {"B34 an API failure said as success", "OVERLOAD 10", "failed", nullptr,
   R"("api_error_status":529)"},
  {"B34 max turns with an empty errors list", "MAXTURNS", "failed", nullptr,
   R"("message":"error_max_turns")"},
  {"B34 an error list", "ERROR the cause is here", "failed", nullptr, "the cause is here"},
  {"B35 success, then exit 1", "ECHO yes\nRESULT\nEXIT 1", "succeeded", nullptr, "yes"},
  {"B35 error, then exit 0", "ERROR no\nEXIT 0", "failed", nullptr, "no"},
  {"B35 error, then exit 1", "ERROR no\nRESULT\nEXIT 1", "failed", "CLAUDE_CLI_ERROR_RESULT", "no"},
  {"B36 the cause is only on stderr", "AUTHFAIL", "failed", "AUTHENTICATION_FAILED",
   "Invalid API key"},
  {"B53 a control request nobody knows", "DIALOG brand_new", "succeeded", nullptr,
   "Dialog: error."},
  {"B37 an announced silence", "RETRY 1500\nECHO back", "succeeded", nullptr, "back"},
};

std::string sha256_of(const std::string& file, const std::string& text) {
  write_file(file, text);
  const std::unique_ptr<FILE, int (*)(FILE*)> sum(::popen(("sha256sum < " + file).c_str(), "r"),
                                                  ::pclose);
  std::string hex(64, ' ');
  return sum && std::fread(hex.data(), 1, hex.size(), sum.get()) == hex.size() ? hex : "";
}

/// Turns whose helpers hold stdout, one after the other.
void leave_no_descriptor_open(int turns) {
  scene stage;
  const auto descriptors = [&] {
    return metric(stage.client.get("/metrics").body, "process_open_fds");
  };
  stage.run("demo", "ORPHAN 300\nRESULT\nEXIT 0");
  const double before = descriptors();
  for (int i = 0; i < turns; ++i) {
    CHECK(outcome_of(stage.run("demo", "ORPHAN 300\nRESULT\nEXIT 0")) == "succeeded");
    CHECK(poll_until([&] { // it may still take a prompt while it ends
      return metric(stage.client.get("/metrics").body, "tidemark_agents_live") == 0;
    }));
  }
  const json died = stage.run("demo", "ORPHAN 300\nEXIT 5");
  CHECK(int_or(object_at(data_of(died), "exit"), "code", -1) == 5);
  CHECK(poll_until([&] { return descriptors() <= before + 2; }));
}

} // namespace

SCENARIO(
  "B07, B19, B21, B23, B24, B28, B32, B33, B34, B35, B36, B37, B53: whatever the agent does, the "
  "turn ends once, truthfully, and the next one runs") {
  scene stage({.environment = {{"TIDEMARK_AGENT_SILENCE_LIMIT", "30s"},
                               {"TIDEMARK_WORKSPACE_AUTH_FAILURES", "100"}}});
  for (const failure_row& row : rows) {
    INFO(row.name);
    const json completed = stage.run("demo", row.prompt);
    const json& data = data_of(completed);
    INFO(completed.dump());
    CHECK(string_or(data, "outcome") == row.outcome);
    const json& why = object_at(data, "error");
    if (string_or(data, "outcome") == "failed") {
      CHECK_FALSE(string_or(why, "message").empty());
      CHECK(string_or(why, "message") != "success");
      CHECK_FALSE(string_or(why, "code").empty());
    }
    if (row.code != nullptr) {
      CHECK(string_or(why, "code") == row.code);
    }
    if (row.holds != nullptr) {
      CHECK(data.dump().find(row.holds) != std::string::npos);
    }
    CHECK(data.dump().size() < 20'000);
    const json next = stage.run("demo", "ECHO next");
    CHECK(string_or(data_of(next), "outcome") == "succeeded");
  }
  CHECK(stage.server.output().find("ended, code 1, signal 0") != std::string::npos); // B35
  const auto events = stage.events("demo");
  CHECK(count_of(events, "agent.noise") >= 5); // B23
  CHECK(dense_from(events, 1));
  CHECK(count_of(events, "turn.completed") == 2 * std::size(rows));
  CHECK(count_of(events, "turn.queued") == 2 * std::size(rows));
  for (const json& e : events) {
    // Noise may hold bytes that are no UTF-8; nothing else may be damaged.
    if (string_or(e, "type") != "agent.noise") {
      CHECK(e.dump().find("\xef\xbf\xbd") == std::string::npos);
    }
  }
}

SCENARIO(
  "B01: an answer without a result is ended by the silence limit and never called a success") {
  scene stage({.environment = {{"TIDEMARK_AGENT_SILENCE_LIMIT", "1s"},
                               {"TIDEMARK_AGENT_INTERRUPT_GRACE", "300ms"},
                               {"TIDEMARK_AGENT_KILL_GRACE", "300ms"}}});
  for (const char* prompt : {"NORESULT", "SILENT"}) {
    INFO(prompt);
    const std::string turn = stage.submit("demo", prompt);
    const std::string next = stage.submit("demo", "hello");
    const json completed = stage.completion("demo", turn);
    CHECK(outcome_of(completed) == "failed");
    CHECK(string_or(object_at(data_of(completed), "error"), "code") == "AGENT_SILENT");
    const json started = stage.await_event("demo", "turn.started", turn);
    const auto agent = static_cast<pid_t>(int_or(object_at(data_of(started), "agent"), "pid", -1));
    CHECK(poll_until([&] { return !process_alive(agent); }));
    CHECK(string_or(data_of(stage.completion("demo", next)), "outcome") == "succeeded");
  }
  CHECK(stage.client.get(of("demo", "events?limit=1000")).body.find("All of it, but no result.")
        != std::string::npos);
}

SCENARIO("B37: an announced retry is not taken for silence") {
  scene stage({.environment = {{"TIDEMARK_AGENT_SILENCE_LIMIT", "1s"}}});
  const json completed = stage.run("demo", "RETRY 3000\nECHO back");
  CHECK(string_or(data_of(completed), "outcome") == "succeeded");
  CHECK(count_of(stage.events("demo"), "agent.retrying") >= 1);
}

SCENARIO("B37: a long tool call that tells of its progress is not taken for silence") {
  scene stage({.environment = {{"TIDEMARK_AGENT_SILENCE_LIMIT", "1s"}}});
  const std::string progress =
    R"({"type":"tool_progress","tool_use_id":"t","tool_name":"Bash","elapsed_time_seconds":1})";
  std::string said;
  for (int i = 0; i < 8; ++i) {
    said += progress + '\n';
  }
  write_file(stage.server.workspace("demo") + "/said.jsonl",
             said + R"({"type":"result","subtype":"success","is_error":false,"result":"done"})"
               + '\n');
  const json completed = stage.run("demo", "REPLAY said.jsonl 300");
  INFO(completed.dump());
  CHECK(outcome_of(completed) == "succeeded");
}

SCENARIO("B28: neither a stop for a tool nor a sign of idleness ends a turn") {
  scene stage;
  write_file(
    stage.server.workspace("demo") + "/said.jsonl",
    R"({"type":"system","subtype":"init","session_id":"s","model":"m","tools":["Read"]})"
    "\n"
    R"({"type":"assistant","message":{"id":"m1","role":"assistant","stop_reason":"tool_use",)"
    R"("content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}]}})"
    "\n"
    R"({"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"tool_use"}}})"
    "\n"
    R"({"type":"system","subtype":"session_state_changed","state":"idle"})"
    "\n"
    R"({"type":"user","message":{"role":"user","content":[{"type":"tool_result",)"
    R"("tool_use_id":"t1","content":"x"}]}})"
    "\n"
    R"({"type":"assistant","message":{"id":"m2","role":"assistant","stop_reason":"end_turn",)"
    R"("content":[{"type":"text","text":"after the tool"}]}})"
    "\n"
    R"({"type":"result","subtype":"success","is_error":false,"result":"after the tool"})"
    "\n");
  const json completed = stage.run("demo", "REPLAY said.jsonl 200");
  CHECK(outcome_of(completed) == "succeeded");
  CHECK(string_or(data_of(completed), "text") == "after the tool");
}

SCENARIO("B24: a complete last line without its line feed is taken") {
  const stand_in_agent agent([](const std::string&, const std::string&) {
    return "[ \"$1\" = --version ] && { echo '2.1.0 (stand-in)'; exit 0; }\nread -r prompt\n"
           "printf '%s' '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,"
           "\"result\":\"whole\"}'\n";
  });
  scene stage({.environment = agent.environment()});
  const json completed = stage.run("demo", "hello");
  INFO(completed.dump());
  CHECK(outcome_of(completed) == "succeeded");
  CHECK(string_or(data_of(completed), "text") == "whole");
}

SCENARIO("B21: what is split over writes to stderr is whole in the error that tells of it") {
  const stand_in_agent agent([](const std::string&, const std::string&) {
    return "[ \"$1\" = --version ] && { echo '2.1.0 (stand-in)'; exit 0; }\nread -r prompt\n"
           "for byte in '\\360' '\\237' '\\231' '\\202'; do printf \"$byte\" >&2; sleep 0.02; "
           "done\n"
           // The kept end begins in the middle of a character.
           "if [ -e flood ]; then yes '🙂' | tr -d '\\n' | head -c 40000 >&2; printf abc >&2; "
           "fi\nexit 3\n";
  });
  scene stage({.environment = agent.environment()});
  for (const bool flood : {false, true}) {
    if (flood) {
      write_file(stage.server.workspace("demo") + "/flood", "");
    }
    const std::string error = object_at(data_of(stage.run("demo", "hello")), "error").dump();
    INFO(error);
    CHECK(error.find("🙂") != std::string::npos);
    CHECK(error.find("\xef\xbf\xbd") == std::string::npos);
  }
}

SCENARIO("B02: an agent that hangs after its result holds up neither its turn nor the next one") {
  // Or it ends just when the next one begins: without having read its prompt, or having read it.
  const std::string then = GENERATE("exec sleep 600", "exec sleep 0.3", "read -r prompt",
                                    "read -r prompt; exit 1", "read -r prompt; kill -9 $$");
  const stand_in_agent agent([&](const std::string& demo, const std::string& directory) {
    return "[ -e '" + directory + "/hung' ] || [ \"$1\" = --version ] && exec '" + demo
           + "' \"$@\"\ntouch '" + directory + "/hung'\nread -r prompt\n"
           + R"(echo '{"type":"system","subtype":"init","session_id":"s","tools":["Read"]}')" + "\n"
           + R"(echo '{"type":"result","subtype":"success","is_error":false,"result":"one",)"
           + R"("session_id":"s"}')" + "\n" + then + "\n";
  });
  auto environment = agent.environment();
  environment["TIDEMARK_AGENT_KILL_GRACE"] = then.ends_with("600") ? "300ms" : "5s";
  scene stage({.environment = environment});
  const std::string first = stage.submit("demo", "hello");
  const std::string second = stage.submit("demo", "ECHO two");
  CHECK(outcome_of(stage.completion("demo", first, seconds(5))) == "succeeded");
  const json completed = stage.completion("demo", second);
  INFO(completed.dump());
  CHECK(outcome_of(completed) == "succeeded");
  CHECK(string_or(data_of(completed), "text") == "two");
  CHECK(outcome_of(stage.await_event("demo", "turn.completed", first)) == "succeeded");
  CHECK(metric(stage.client.get("/metrics").body, "tidemark_agents_live") == Approx(1));
}

SCENARIO("B04: turns whose helpers hold stdout leave no descriptor open, and their exit is told") {
  leave_no_descriptor_open(15);
}

SCENARIO("B04: the same a hundred times", "[long][.]") {
  leave_no_descriptor_open(100);
}

SCENARIO("B02, B04: helpers that hold stdout do not keep the turn open, and do not outlive it") {
  scene stage;
  const std::string turn = stage.submit("demo", "ORPHAN 300\nRESULT\nEXIT 0");
  const auto before = std::chrono::steady_clock::now();
  const json completed = stage.completion("demo", turn);
  CHECK(std::chrono::steady_clock::now() - before < seconds(10));
  CHECK(string_or(data_of(completed), "outcome") == "succeeded");
  std::istringstream words(string_or(data_of(completed), "text"));
  std::string word;
  words >> word;
  REQUIRE(word == "orphans");
  for (pid_t pid = 0; words >> pid;) {
    INFO("helper " << pid);
    CHECK(poll_until([&] { return !process_alive(pid); }));
  }
}

SCENARIO("B09: a big prompt reaches the agent unchanged, and never by argv") {
  scene stage;
  for (const std::size_t size : {131071U, 131072U, 200000U, 3000000U}) {
    const std::string prompt = "SHA\n" + std::string(size - 4, 'x');
    const json completed = stage.run("demo", prompt);
    CHECK(string_or(data_of(completed), "text")
          == std::to_string(size) + " " + sha256_of(stage.server.path("prompt"), prompt));
  }
  const json environment = stage.run("demo", "ENV");
  CHECK(string_or(data_of(environment), "text").find("xxxx") == std::string::npos);
}

SCENARIO(
  "B12, B77: the agent sees an allow list of the environment and none of the server's secrets") {
  scene stage({.environment = {{"CLAUDECODE", "1"},
                               {"CLAUDE_CODE_ENTRYPOINT", "cli"},
                               {"CLAUDE_CODE_SSE_PORT", "1"},
                               {"DATABASE_PASSWORD", "do-not-tell"},
                               {"ANTHROPIC_API_KEY", "sk-not-for-you"}},
               .token = "very-secret-token"});
  const json completed = stage.run("demo", "ENV");
  REQUIRE(string_or(data_of(completed), "outcome") == "succeeded");
  const std::string seen = string_or(data_of(completed), "text");
  CHECK(seen.find("CLAUDECODE") == std::string::npos);
  CHECK(seen.find("CLAUDE_CODE_SSE_PORT") == std::string::npos);
  CHECK(seen.find("CLAUDE_CODE_ENTRYPOINT") == std::string::npos);
  CHECK(seen.find("DATABASE_PASSWORD") == std::string::npos);
  // They may have come to it by another way.
  write_file(stage.server.workspace("demo") + "/found",
             "do-not-tell sk-not-for-you very-secret-token");
  const json told = stage.run("demo", "TOOL cat found\nSTDERR 10\nEXIT 3");
  CHECK(outcome_of(told) == "failed");
  CHECK(stage.client.get(of("demo", "events?limit=1000")).body.find("[secret]")
        != std::string::npos);
  const std::string everything = stage.client.get(of("demo", "events?limit=1000&raw=true")).body
                                 + stage.client.get("/metrics").body + stage.server.output()
                                 + stage.client.get("/api/v1/status").body;
  for (const char* secret : {"do-not-tell", "sk-not-for-you", "very-secret-token"}) {
    INFO(secret);
    CHECK(everything.find(secret) == std::string::npos);
  }
}

SCENARIO("B77: the server's secrets do not stand in its environment, where agents could look") {
  const scene stage({.environment = {{"DATABASE_PASSWORD", "do-not-tell"},
                                     {"COLOUR", "blue"},
                                     {"TIDEMARK_SERVER_CORE_DUMPS", "true"}}, // to see it at all
                     .token = "very-secret-token"});
  const auto shown = read_file("/proc/" + std::to_string(stage.server.pid()) + "/environ");
  CHECK(shown.find("COLOUR=blue") != std::string::npos);
  CHECK(shown.find("do-not-tell") == std::string::npos);
  CHECK(shown.find("very-secret-token") == std::string::npos);
  CHECK(stage.client.get("/api/v1/status").status == 200); // it still knows its token
}
