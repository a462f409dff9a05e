// What the agents' account makes fail: a login that is gone, a limit that is used up, a configuration
// that many agents share.
#include "tests/integration/scene.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

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
  const std::string cause = stage.events("demo", "types=agent.notice").back().dump();
  INFO(cause);
  CHECK(cause.find("queue_paused") != std::string::npos);
  CHECK(cause.find("Invalid API key") != std::string::npos);
  CHECK(metric(stage.client.get("/metrics").body, "tidemark_turns_waiting") == Approx(5));
}

SCENARIO("B38: after the login is mended, the queue goes on by itself") {
  const stand_in_agent agent([](const std::string& demo, const std::string& directory) {
    return "[ -e '" + directory + "/login' ] || [ \"$1\" = --version ] && exec '" + demo
           + "' \"$@\"\necho 'Invalid API key · Please run /login' >&2\nexit 1\n";
  });
  auto environment = agent.environment();
  environment["TIDEMARK_WORKSPACE_AUTH_FAILURES"] = "2";
  environment["TIDEMARK_WORKSPACE_AUTH_PAUSE"] = "2s";
  scene stage({.environment = environment});
  std::vector<std::string> turns;
  for (int i = 0; i < 5; ++i) {
    turns.push_back(stage.submit("demo", "ECHO fine"));
  }
  stage.completion("demo", turns[1]);
  agent.write("login", "");
  for (int i = 2; i < 5; ++i) {
    CHECK(outcome_of(stage.completion("demo", turns[static_cast<std::size_t>(i)])) == "succeeded");
  }
}

SCENARIO("B33: a used-up limit pauses the workspace instead of burning its queue") {
  scene stage({.environment = {{"TIDEMARK_WORKSPACE_AUTH_FAILURES", "2"}}});
  std::vector<std::string> turns;
  for (int i = 0; i < 5; ++i) {
    turns.push_back(stage.submit("demo", i < 2 ? "LIMIT" : "ECHO fine"));
  }
  stage.completion("demo", turns[1]);
  const json notice = data_of(stage.events("demo", "types=agent.notice").back());
  INFO(notice.dump());
  CHECK(string_or(notice, "code") == "queue_paused");
  CHECK(string_or(notice, "text").find("resets 8pm") != std::string::npos);
  CHECK(int_or(notice, "pause_s", 0) == 3600); // its end lies years ahead
  CHECK(int_or(stage.queue("demo"), "queue_length", 0) == 3);
  CHECK(stage.client.post(of("demo", "session/reset")).status == 200); // somebody has lifted it
  CHECK(outcome_of(stage.completion("demo", turns[4])) == "succeeded");
}

SCENARIO("B43: many workspaces that start at once do not break each other's agent configuration") {
  scene stage;
  constexpr int workspaces = 12;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::string> turns;
    for (int i = 0; i < workspaces; ++i) {
      turns.push_back(stage.submit("config-" + std::to_string(i), "CONFIG 20\nRESULT\nEXIT 0"));
    }
    for (int i = 0; i < workspaces; ++i) {
      const json completed = stage.completion("config-" + std::to_string(i),
                                              turns[static_cast<std::size_t>(i)], seconds(60));
      CHECK(outcome_of(completed) == "succeeded");
    }
  }
}
