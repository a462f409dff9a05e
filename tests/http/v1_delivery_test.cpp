#include "tests/http/v1_stage.hpp"
#include "tests/support/v1_client.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>
#include <random>

using namespace v1_test;

namespace {

/// What a client does while its task runs.
enum class behaviour { reads_all, leaves_first, leaves_at_the_end };

struct outcome_seen {
  bool whole = false;     ///< the client has the result and the proper end
  bool delivered = false; ///< the workspace counts the result as delivered
  bool pending = false;
};

outcome_seen play(v1_stage& stage, const std::string& workspace, behaviour how, bool by_reset,
                  bool stream) {
  auto body = json::object();
  body["content"] = "hi";
  body["workspace_id"] = workspace;
  v1_call client{stage.port, "POST", stream ? "/api/v1/message/stream" : "/api/v1/message",
                 dump_json(body)};
  REQUIRE(eventually([&] { return !stage.workspaces.begun(workspace).empty(); }));
  const auto turn = stage.workspaces.begun(workspace);
  stage.workspaces.start(workspace, turn);
  stage.workspaces.say(workspace, turn, "result");
  if (how == behaviour::leaves_first)
    client.leave(by_reset);
  stage.workspaces.succeed(workspace, turn, "result");
  if (how == behaviour::leaves_at_the_end)
    client.leave(by_reset);
  else if (how == behaviour::reads_all)
    client.read_all();
  outcome_seen seen;
  seen.whole = client.ended_properly() && client.body().find("result") != std::string::npos;
  REQUIRE(eventually([&] { return stage.workspaces.undelivered(workspace) == 0; }));
  const auto history = stage.workspaces.history(workspace);
  seen.delivered = std::count(history.begin(), history.end(), "result.delivered") == 1;
  seen.pending = stage.workspaces.pending(workspace).size() == 1;
  return seen;
}

} // namespace

SCENARIO("a result that its client dies over, arrived but unread, is pending") {
  v1_stage stage;
  for (const auto* path : {"/api/v1/message", "/api/v1/message/stream"}) {
    INFO(path);
    const auto workspace = std::string{path}.ends_with("stream") ? "streamed" : "waited";
    auto body = json::object();
    body["content"] = "hi";
    body["workspace_id"] = workspace;
    v1_call client{stage.port, "POST", path, dump_json(body)};
    REQUIRE(eventually([&] { return !stage.workspaces.begun(workspace).empty(); }));
    const auto turn = stage.workspaces.begun(workspace);
    stage.workspaces.start(workspace, turn);
    stage.workspaces.succeed(workspace, turn, "result");
    REQUIRE(eventually([&] { return client.has_waiting("\r\n0\r\n\r\n"); }));
    client.leave(false); // with unread bytes the kernel makes a reset of it
    REQUIRE(eventually([&] { return stage.workspaces.undelivered(workspace) == 0; }));
    CHECK(stage.workspaces.pending(workspace).size() == 1);
  }
}

SCENARIO("whatever its client does, a result is delivered or pending: never both, never neither") {
  const auto seed = std::random_device{}();
  std::mt19937_64 random{seed};
  v1_stage stage;
  for (int round = 0; round < 60; ++round) {
    const auto how = static_cast<behaviour>(random() % 3);
    const auto by_reset = random() % 2 == 0;
    const auto stream = random() % 2 == 0;
    INFO("seed " << seed << ", round " << round << ", behaviour " << static_cast<int>(how)
                 << ", reset " << by_reset << ", stream " << stream);
    const auto seen = play(stage, "w" + std::to_string(round), how, by_reset, stream);
    REQUIRE(seen.delivered != seen.pending);
    if (how == behaviour::reads_all) {
      REQUIRE(seen.whole);
      REQUIRE(seen.delivered);
    }
    if (how == behaviour::leaves_first)
      REQUIRE(seen.pending);
  }
}
