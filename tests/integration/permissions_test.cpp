// Requests of agents that a person decides, with the real server and the demo agent.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/temp_dir.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>

using namespace tidemark;
using namespace tidemark::test;
using namespace std::chrono_literals;

namespace {

std::map<std::string, std::string> asking(const std::string& limit = "10m") {
  return {{"RUNTIME_POLICY", "strict"},
          {"TIDEMARK_PERMISSIONS_ASK", "denied"},
          {"TIDEMARK_PERMISSIONS_TIMEOUT", limit}};
}

json permissions(const scene& stage, const std::string& workspace = "demo") {
  const auto reply = stage.client.get(of(workspace, "permissions"));
  REQUIRE(reply.status == 200);
  return reply.parsed();
}

/// The request that waits, once there is one.
json await_request(const scene& stage, const std::string& workspace = "demo") {
  json found;
  REQUIRE(poll_until(
    [&] {
      const auto reply = stage.client.get(of(workspace, "permissions"));
      const auto body = reply.parsed();
      if (reply.status != 200 || body["pending"].empty())
        return false;
      found = body["pending"][0];
      return true;
    },
    20s));
  return found;
}

http_reply decide(const scene& stage, const std::string& permission, json body) {
  return stage.client.post(of("demo", "permissions/" + permission), body);
}

std::string id_of(const json& request) {
  return string_or(request, "permission");
}

/// The only event of this type of the turn.
json only(const scene& stage, const std::string& type, const std::string& turn) {
  const auto found = stage.events("demo", "types=" + type + "&turn=" + turn);
  REQUIRE(found.size() == 1);
  return data_of(found[0]);
}

} // namespace

SCENARIO("a tool that a person allows runs, and the log says who allowed it") {
  scene stage({.environment = asking()});
  const auto turn = stage.submit("demo", "TOOL echo made > made.txt");
  const auto request = await_request(stage);
  CHECK(request["kind"] == "permission");
  CHECK(request["tool"] == "Bash");
  CHECK(request["turn"] == turn);
  CHECK(request["input"]["command"] == "echo made > made.txt");
  CHECK(request["always"]["command"] == "echo made > made.txt");
  const auto all = stage.client.get("/api/v1/permissions").parsed();
  REQUIRE(all["pending"].size() == 1);
  CHECK(all["pending"][0]["workspace"] == "demo");
  CHECK(read_file(stage.server.workspace("demo") + "/made.txt").empty());
  const auto reply = decide(stage, id_of(request), {{"decision", "allow"}});
  CHECK(reply.status == 200);
  CHECK(reply.parsed()["decision"] == "allow");
  CHECK(outcome_of(stage.completion("demo", turn)) == "succeeded");
  CHECK(read_file(stage.server.workspace("demo") + "/made.txt") == "made\n");
  const auto how = only(stage, "permission.resolved", turn);
  CHECK(how["decision"] == "allow");
  CHECK(how["by"] == "internal");
  CHECK(how["via"] == "client");
  CHECK(stage.client.get("/api/v1/permissions").parsed()["pending"].empty());
}

SCENARIO("B48: a denial by a person is obeyed, and the queue moves on") {
  scene stage({.environment = asking()});
  const auto turn = stage.submit("demo", "TOOL echo made > made.txt");
  const auto next = stage.submit("demo", "ECHO after");
  const auto request = await_request(stage);
  const auto reply =
    decide(stage, id_of(request), {{"decision", "deny"}, {"message", "not this one"}});
  CHECK(reply.status == 200);
  stage.completion("demo", turn);
  CHECK(only(stage, "permission.resolved", turn)["message"] == "not this one");
  const auto said = stage.events("demo", "types=item.completed&turn=" + turn);
  CHECK(json(said).dump().find("not this one") != std::string::npos); // the agent heard it
  CHECK(read_file(stage.server.workspace("demo") + "/made.txt").empty());
  CHECK(outcome_of(stage.completion("demo", next)) == "succeeded");
}

SCENARIO("B47: what nobody decides in time is denied with words and on record, and what is decided "
         "late is refused") {
  scene stage({.environment = asking("1s")});
  const auto turn = stage.submit("demo", "TOOL echo made > made.txt");
  stage.completion("demo", turn);
  const auto how = only(stage, "permission.resolved", turn);
  CHECK(how["decision"] == "deny");
  CHECK(how["by"] == "timeout");
  CHECK_FALSE(string_or(how, "message").empty());
  CHECK(read_file(stage.server.workspace("demo") + "/made.txt").empty());
  const auto asked = only(stage, "permission.requested", turn);
  const auto late = decide(stage, id_of(asked), {{"decision", "allow"}});
  CHECK(late.status == 409);
  CHECK(late.parsed()["code"] == "permission_resolved");
  CHECK(late.parsed()["by"] == "timeout");
  CHECK(stage.events("demo", "types=permission.resolved").size() == 1);
  const auto metrics = stage.client.get("/metrics").body;
  CHECK(metrics.find(R"(tidemark_permission_decisions_total{by="timeout",decision="deny"} 1)")
        != std::string::npos);
}

SCENARIO(
  "B47: a client that comes later finds what waits, and a malformed decision settles nothing") {
  scene stage({.environment = asking()});
  const auto turn = stage.submit("demo", "TOOL echo made > made.txt");
  const auto id = id_of(await_request(stage));
  const sse_reader reader{stage.client, of("demo", "events")};
  CHECK(reader.wait_for("permission.requested"));
  for (const char* body :
       {"", "no json", "[]", "{}", R"({"decision":"yes"})", R"({"decision":1})",
        R"({"decision":"deny","message":5})", R"({"decision":"allow","answers":[]})",
        R"({"decision":"allow","answers":{"a":"b"}})"}) {
    INFO(body);
    CHECK(
      stage.client.send({.method = "POST", .path = of("demo", "permissions/" + id), .body = body})
        .status
      == 400);
  }
  CHECK(decide(stage, "nobody-1", {{"decision", "allow"}}).status == 404);
  CHECK(stage.client.post(of("none", "permissions/" + id), {{"decision", "allow"}}).status == 404);
  CHECK(stage.client.get(of("none", "permissions")).status == 404);
  CHECK(stage.client.get(of("bad%20name", "permissions")).status == 400);
  CHECK(permissions(stage)["pending"].size() == 1);
  CHECK(decide(stage, id, {{"decision", "allow"}}).status == 200);
  CHECK(decide(stage, id, {{"decision", "deny"}}).status == 409);
  CHECK(outcome_of(stage.completion("demo", turn)) == "succeeded");
  CHECK(read_file(stage.server.workspace("demo") + "/made.txt") == "made\n");
}

SCENARIO("B48: what waits when the server is killed is resolved before its turn's end, once") {
  scene stage({.environment = asking()});
  const auto turn = stage.submit("demo", "TOOL echo made > made.txt");
  const auto id = id_of(await_request(stage));
  stage.kill_and_restart();
  CHECK(outcome_of(stage.completion("demo", turn)) == "interrupted");
  CHECK(only(stage, "permission.resolved", turn)["by"] == "restart");
  const auto types = stage.events("demo", "types=permission.resolved,turn.completed");
  CHECK(string_or(types.front(), "type") == "permission.resolved");
  CHECK(decide(stage, id, {{"decision", "allow"}}).status == 409);
  CHECK(permissions(stage)["pending"].empty());
  CHECK(read_file(stage.server.workspace("demo") + "/made.txt").empty());
}

SCENARIO(
  "what a person always allows is not asked for again, also after a restart, until the rule is "
  "removed") {
  scene stage({.environment = asking()});
  const std::string script = "TOOL echo x >> runs.txt";
  const auto turn = stage.submit("demo", script);
  const auto reply = decide(stage, id_of(await_request(stage)), {{"decision", "allow_always"}});
  REQUIRE(reply.status == 200);
  const auto rule = string_or(reply.parsed(), "rule");
  REQUIRE_FALSE(rule.empty());
  stage.completion("demo", turn);
  const auto second = stage.submit("demo", script);
  CHECK(outcome_of(stage.completion("demo", second)) == "succeeded");
  CHECK(only(stage, "permission.resolved", second)["by"] == "rule");
  stage.kill_and_restart();
  const auto third = stage.submit("demo", script);
  CHECK(outcome_of(stage.completion("demo", third)) == "succeeded");
  CHECK(only(stage, "permission.resolved", third)["rule"] == rule);
  CHECK(read_file(stage.server.workspace("demo") + "/runs.txt") == "x\nx\nx\n");
  const auto rules = permissions(stage)["rules"];
  REQUIRE(rules.size() == 1);
  CHECK(rules[0]["command"] == "echo x >> runs.txt");
  CHECK(stage.client.remove(of("demo", "permissions/rules/" + rule)).status == 200);
  CHECK(stage.client.remove(of("demo", "permissions/rules/" + rule)).status == 404);
  const auto fourth = stage.submit("demo", script);
  const auto request = await_request(stage);
  CHECK(request["turn"] == fourth);
  CHECK(decide(stage, id_of(request), {{"decision", "deny"}}).status == 200);
}

SCENARIO("a person answers a question of the agent, and the agent has the answer") {
  scene stage({.environment = {{"TIDEMARK_PERMISSIONS_ASK", "denied"}}});
  const auto turn = stage.submit("demo", "QUESTION Which one?");
  const auto request = await_request(stage);
  CHECK(request["kind"] == "question");
  CHECK(request["input"]["questions"][0]["options"][1]["label"] == "blue");
  CHECK(decide(stage, id_of(request), {{"decision", "allow"}}).status == 400);
  CHECK(decide(stage, id_of(request), {{"decision", "allow_always"}}).status == 400);
  const auto answers = json::object({{"Which one?", "blue"}});
  CHECK(decide(stage, id_of(request), {{"decision", "allow"}, {"answers", answers}}).status == 200);
  CHECK(text_of(stage.completion("demo", turn)).find("Chosen: blue.") != std::string::npos);
  CHECK(only(stage, "question.resolved", turn)["answers"] == answers);
}

SCENARIO("people list, allow and forget from the command line") {
  scene stage({.environment = asking()});
  const auto turn = stage.submit("demo", "TOOL echo made > made.txt");
  const auto id = id_of(await_request(stage));
  const auto listed = run_command(stage, "permissions");
  CHECK(listed.code == 0);
  CHECK(listed.out.find(id) != std::string::npos);
  CHECK(listed.out.find("echo made > made.txt") != std::string::npos);
  const auto decided = run_command(stage, "decide demo " + id + " always");
  CHECK(decided.code == 0);
  CHECK(outcome_of(stage.completion("demo", turn)) == "succeeded");
  CHECK(run_command(stage, "decide demo " + id + " deny").code != 0);
  const auto rules = permissions(stage)["rules"];
  REQUIRE(rules.size() == 1);
  const auto rule = string_or(rules[0], "rule");
  CHECK(decided.out.find(rule) != std::string::npos);
  CHECK(run_command(stage, "permissions demo").out.find(rule) != std::string::npos);
  CHECK(run_command(stage, "permissions demo --forget " + rule).code == 0);
  CHECK(permissions(stage)["rules"].empty());
}

SCENARIO("a request that waits is withdrawn when its turn is cancelled or interrupted") {
  scene stage({.environment = asking()});
  for (const std::string how : {"cancel", "interrupt"}) {
    INFO(how);
    const auto turn = stage.submit("demo", "TOOL echo made > made.txt");
    const auto id = id_of(await_request(stage));
    if (how == "cancel")
      CHECK(stage.client.remove(of("demo", "turns/" + turn)).status == 200);
    else
      CHECK(stage.client.post(of("demo", "turns/" + turn + "/interrupt")).status == 200);
    CHECK(outcome_of(stage.completion("demo", turn)) == "cancelled");
    CHECK(only(stage, "permission.resolved", turn)["by"] == "withdrawn");
    CHECK(decide(stage, id, {{"decision", "allow"}}).status == 409);
  }
  CHECK(read_file(stage.server.workspace("demo") + "/made.txt").empty());
}
