// What agents have been seen to do wrong, and what must come of it. One server runs all rows.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/temp_dir.hpp"

#include <catch2/catch.hpp>
#include <csignal>
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
  {"B19 a huge line costs only itself", "HUGE 5000000\nECHO small", "succeeded", nullptr, "small"},
  {"B19 a line of exactly 64 KiB", "HUGE 65536\nECHO small", "succeeded", nullptr, "small"},
  {"B19 written in pieces", "SPLIT 4096\nHUGE 1048577\nECHO small", "succeeded", nullptr, "small"},
  {"B21 UTF-8 one byte a write", "UTF8", "succeeded", nullptr, "한글 漢字 🙂 Grüße"},
  {"B23 noise around the protocol", "NOISE\nECHO survived", "succeeded", nullptr, "survived"},
  {"B24 half a result line, then death", "WORDS 3\nHALF 9", "failed", nullptr, nullptr},
  {"B28 a pause in the middle of the work", "TOOL true\nPAUSE 1500\nECHO after the pause",
   "succeeded", nullptr, "after the pause"},
  {"B32 exit 0 without a word", "EXIT 0", "failed", nullptr, nullptr},
  {"B32 text, then exit 0 without a result", "ECHO partial\nEXIT 0", "failed", nullptr, nullptr},
  {"B32 killed without a result", "ECHO partial\nSIGNAL 9", "failed", nullptr, nullptr},
  {"B33 the usage limit said as success", "LIMIT", "failed", "RATE_LIMITED", "session limit"},
  {"B33 an answer that only talks of limits", "ECHO our rate limit of 429 was hit yesterday",
   "succeeded", nullptr, nullptr},
  {"B34 an API failure said as success", "OVERLOAD 10", "failed", nullptr, "529"},
  {"B34 max turns with an empty errors list", "MAXTURNS", "failed", nullptr, nullptr},
  {"B34 an error list", "ERROR the cause is here", "failed", nullptr, "the cause is here"},
  {"B35 success, then exit 1", "ECHO yes\nRESULT\nEXIT 1", "succeeded", nullptr, "yes"},
  {"B35 error, then exit 0", "ERROR no\nEXIT 0", "failed", nullptr, "no"},
  {"B36 the cause is only on stderr", "AUTHFAIL", "failed", "AUTHENTICATION_FAILED",
   "Invalid API key"},
  {"B53 a control request nobody knows", "DIALOG brand_new", "succeeded", nullptr,
   "Dialog: error."},
  {"B37 an announced silence", "RETRY 1500\nECHO back", "succeeded", nullptr, "back"},
};

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
      CHECK(completed.dump().find(row.holds) != std::string::npos);
    }
    const json next = stage.run("demo", "ECHO next");
    CHECK(string_or(data_of(next), "outcome") == "succeeded");
  }
  const auto events = stage.events("demo");
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
    CHECK(string_or(data_of(stage.completion("demo", turn)), "outcome") == "failed");
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
    CHECK(string_or(data_of(completed), "text").starts_with(std::to_string(size) + " "));
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
  CHECK(seen.find("DATABASE_PASSWORD") == std::string::npos);
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

SCENARIO("B38: equal failures to log in pause the workspace instead of burning its queue") {
  scene stage({.environment = {{"TIDEMARK_WORKSPACE_AUTH_FAILURES", "3"},
                               {"TIDEMARK_WORKSPACE_AUTH_PAUSE", "60s"}}});
  std::vector<std::string> turns;
  for (int i = 0; i < 8; ++i) {
    turns.push_back(stage.submit("demo", "AUTHFAIL"));
  }
  stage.completion("demo", turns[2]);
  const auto paused = [&] {
    return int_or(stage.queue("demo"), "queue_length", 0) == 5
           && stage.queue("demo").at("current_task").is_null();
  };
  CHECK(poll_until(paused));
  CHECK(count_of(stage.events("demo"), "turn.completed") == 3);
}

SCENARIO("B43: many workspaces that start at once do not break each other's agent configuration") {
  scene stage;
  constexpr int workspaces = 6;
  std::vector<std::string> turns;
  for (int i = 0; i < workspaces; ++i) {
    turns.push_back(stage.submit("config-" + std::to_string(i), "CONFIG 20"));
  }
  for (int i = 0; i < workspaces; ++i) {
    const json completed = stage.completion("config-" + std::to_string(i),
                                            turns[static_cast<std::size_t>(i)], seconds(60));
    CHECK(string_or(data_of(completed), "outcome") == "succeeded");
  }
}
