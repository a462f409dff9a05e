#include "tests/agents/claude_lines.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;

namespace {

json only_line(const std::string& bytes) {
  REQUIRE(bytes.find('\n') == bytes.size() - 1);
  return parse_json(bytes).value();
}

} // namespace

SCENARIO("a gated tool asks, and an allow answers with the original input") {
  conversation c;
  c.line(permission_request("req_1", "Bash", {{"command", "make"}, {"n", 1}}));
  REQUIRE(c.asks.size() == 1);
  REQUIRE(c.asks[0].tool == "Bash");
  const auto asked = c.of("permission.requested").at(0);
  REQUIRE(asked["permission"] == c.asks[0].id);
  REQUIRE(asked["input"]["command"] == "make");
  REQUIRE(asked["description"] == "does it");

  const auto sent = only_line(c.agent->answer(c.asks[0].id, decision::allow, ""));
  REQUIRE(sent["type"] == "control_response");
  REQUIRE(sent["response"]["subtype"] == "success");
  REQUIRE(sent["response"]["request_id"] == "req_1");
  REQUIRE(sent["response"]["response"]["behavior"] == "allow");
  REQUIRE(sent["response"]["response"]["updatedInput"] == c.asks[0].input);
  REQUIRE(c.agent->answer(c.asks[0].id, decision::deny, "late").empty());
  c.line(result("x"));
  REQUIRE(c.of("permission.resolved").empty());
}

SCENARIO("a denial always has a message") {
  for (const auto* message : {"", "not now"}) {
    conversation c;
    c.line(permission_request("req_1", "AskUserQuestion", json::object()));
    const auto sent = only_line(c.agent->answer(c.asks.at(0).id, decision::deny, message));
    REQUIRE(sent["response"]["response"]["behavior"] == "deny");
    REQUIRE_FALSE(sent["response"]["response"]["message"].get<std::string>().empty());
  }
}

SCENARIO("an ask that the agent withdraws is resolved and needs no answer") {
  conversation c;
  c.lines({permission_request("req_1", "Bash", json::object()),
           R"({"type":"control_cancel_request","request_id":"req_1"})"});
  REQUIRE(c.withdrawn == std::vector<std::string>{c.asks.at(0).id});
  REQUIRE(c.of("permission.resolved").at(0)["by"] == "withdrawn");
  REQUIRE(c.agent->answer(c.asks[0].id, decision::allow, "").empty());
  REQUIRE(c.broken_promise() == "");
}

SCENARIO("asks that are open when the turn ends are resolved by the agent") {
  conversation c;
  c.line(permission_request("req_1", "Bash", json::object()));
  WHEN("a result comes") {
    c.line(result("x"));
  }
  WHEN("the process dies") {
    c.exit({-1, 9});
  }
  WHEN("the turn is given up") {
    c.add(c.agent->abandon_turn());
  }
  const auto resolved = c.of("permission.resolved").at(0);
  REQUIRE(resolved["by"] == "agent");
  REQUIRE(resolved["synthetic"] == true);
  REQUIRE(c.broken_promise() == "");
}

SCENARIO("a control request that we cannot serve is refused at once") {
  conversation c;
  c.lines(
    {R"({"type":"control_request","request_id":"r1","request":{"subtype":"request_user_dialog"}})",
     R"({"type":"control_request","request_id":"r2","request":{"subtype":"can_use_tool"}})",
     R"({"type":"control_request","request":{"subtype":"nobody to answer"}})"});
  REQUIRE(c.asks.empty());
  const auto cut = c.replies.find('\n') + 1;
  for (const auto& [bytes, id] :
       {std::pair{c.replies.substr(0, cut), "r1"}, std::pair{c.replies.substr(cut), "r2"}}) {
    const auto sent = only_line(bytes);
    REQUIRE(sent["response"]["subtype"] == "error");
    REQUIRE(sent["response"]["request_id"] == id);
    REQUIRE_FALSE(sent["response"]["error"].get<std::string>().empty());
  }
}

SCENARIO(
  "an interrupt is a control request; its turn ends as interrupted and the next one is untouched") {
  conversation c;
  c.lines({init(), assistant(tool_use("t", "Bash"))});
  const auto sent = only_line(c.agent->interrupt());
  REQUIRE(sent["type"] == "control_request");
  REQUIRE(sent["request"]["subtype"] == "interrupt");
  json response = {{"subtype", "success"}, {"request_id", sent["request_id"]}};
  REQUIRE(c.line(dump_json({{"type", "control_response"}, {"response", response}}))
            .interrupt_acknowledged);
  auto last =
    parse_json(result("", {{"subtype", "error_during_execution"}, {"is_error", true}})).value();
  last.erase("result");
  c.line(dump_json(last));
  REQUIRE(c.end().how == outcome::interrupted);
  REQUIRE(c.end().text.empty());
  REQUIRE(c.end().why->code == "INTERRUPTED");
  REQUIRE(c.broken_promise() == "");

  c.agent->begin_turn("next");
  c.lines({init(), result("fine")});
  REQUIRE(c.replies.empty());
  REQUIRE(c.end().how == outcome::succeeded);
}

SCENARIO("a question is answered with its input and the answers, and withdrawn as a question") {
  const json input = {{"questions", json::array({json::object({{"question", "Which?"}})})}};
  GIVEN("one that is answered") {
    conversation c;
    c.line(permission_request("req_1", "AskUserQuestion", input));
    REQUIRE(c.asks.at(0).is_question);
    REQUIRE(c.of("question.requested").at(0)["input"] == input);
    REQUIRE(c.of("permission.requested").empty());
    const json answers = {{"Which?", "this"}};
    const auto sent = only_line(c.agent->answer_question(c.asks[0].id, answers));
    const auto& response = sent["response"]["response"];
    REQUIRE(response["behavior"] == "allow");
    REQUIRE(response["updatedInput"]["answers"] == answers);
    REQUIRE(response["updatedInput"]["questions"] == input["questions"]);
    REQUIRE(c.agent->answer_question(c.asks[0].id, answers).empty());
  }
  GIVEN("one that the agent withdraws, and one that its turn leaves open") {
    conversation c;
    c.lines({permission_request("req_1", "AskUserQuestion", input),
             permission_request("req_2", "AskUserQuestion", input),
             dump_json({{"type", "control_cancel_request"}, {"request_id", "req_1"}})});
    c.exit({0, 0}, "");
    REQUIRE(c.of("question.resolved").size() == 2);
    REQUIRE(c.of("permission.resolved").empty());
    REQUIRE(c.broken_promise().empty());
  }
}

SCENARIO("an interrupt that the agent was too young to hear is sent again") {
  conversation c;
  const auto first = only_line(c.agent->interrupt());
  c.line(init());
  const auto second = only_line(c.replies);
  REQUIRE(second["request"]["subtype"] == "interrupt");
  REQUIRE(second["request_id"] != first["request_id"]);
  c.exit({-1, 9});
  REQUIRE(c.end().how == outcome::interrupted);
}
