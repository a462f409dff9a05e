#include "tests/agents/claude_lines.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;

namespace {

turn_result ended_with(const std::vector<std::string>& lines) {
  conversation c;
  c.lines(lines);
  return c.end();
}

turn_result exited_with(exit_status how, std::string_view stderr_tail,
                        const std::vector<std::string>& lines = {}) {
  conversation c;
  c.lines(lines);
  c.exit(how, stderr_tail);
  REQUIRE(c.ends.size() == 1);
  REQUIRE(c.broken_promise() == "");
  return c.end();
}

constexpr const char* limit_text = "You've hit your session limit \u00B7 resets 8pm (UTC)";

} // namespace

SCENARIO("a good result succeeds with its text and its normalised usage") {
  const auto end = ended_with({init(), says("Hello."), result("Hello.")});
  REQUIRE(end.how == outcome::succeeded);
  REQUIRE_FALSE(end.why);
  REQUIRE(end.text == "Hello.");
  REQUIRE(end.stop_reason == "end_turn");
  REQUIRE(end.usage.input == 4);
  REQUIRE(end.usage.output == 20);
  REQUIRE(end.usage.cache_read == 200);
  REQUIRE(end.usage.cache_write == 100);
  REQUIRE(end.model == "model-1");
}

SCENARIO("the final text is the last message, even if the result repeats only its first piece") {
  REQUIRE(ended_with({says("one ", "m"), says("two", "m"), result("one ")}).text == "one two");
  REQUIRE(ended_with({says("earlier", "m1"), says("last", "m2"), result("")}).text == "last");
  REQUIRE(ended_with({says("one", "m"), result("one and more")}).text == "one and more");
}

SCENARIO("a result that claims success but is flagged fails, with its own words") {
  const auto end = ended_with(
    {says("API Error: 529 overloaded"),
     result("API Error: 529 overloaded", {{"is_error", true}, {"api_error_status", 529}})});
  REQUIRE(end.how == outcome::failed);
  REQUIRE(end.why->code == "CLAUDE_CLI_ERROR_RESULT");
  REQUIRE(end.why->message == "API Error: 529 overloaded");
  REQUIRE(end.why->details["api_error_status"] == 529);
  REQUIRE(end.why->retryable);
}

SCENARIO("the message of a failure is never empty and never success") {
  const auto message = [](const json& more) { return ended_with({result("", more)}).why->message; };
  REQUIRE(message({{"is_error", true}, {"errors", {"first", "", "second"}}}) == "first; second");
  REQUIRE(message({{"is_error", true}, {"result", "told"}}) == "told");
  REQUIRE(message({{"subtype", "error_max_turns"}, {"errors", json::array()}})
          == "error_max_turns");
  REQUIRE(
    message({{"is_error", true}, {"result", "success"}, {"api_error_status", 500}}).find("500")
    != std::string::npos);
  REQUIRE_FALSE(message({{"is_error", true}, {"errors", {7, nullptr}}}).empty());
}

SCENARIO("a usage limit fails as rate limited, flagged or not; talking about limits does not") {
  for (const auto flagged : {true, false}) {
    const auto end = ended_with({says(limit_text), result(limit_text, {{"is_error", flagged}})});
    REQUIRE(end.how == outcome::failed);
    REQUIRE(end.why->code == "RATE_LIMITED");
    REQUIRE(end.why->details["resets"] == "8pm (UTC)");
  }
  for (const auto* text :
       {"Claude AI usage limit reached|1900000000", "5-hour limit reached \u2219 resets 3pm"})
    REQUIRE(ended_with({result(text)}).why->code == "RATE_LIMITED");
  for (const auto* text :
       {"The message \"You've hit your session limit \u00B7 resets 8pm\" means that you must wait.",
        "You've hit your session limit is what the CLI prints when the five hours are used up.",
        "Your rate limiter resets every minute.", "The limit was reached."})
    REQUIRE(ended_with({says(text), result(text)}).how == outcome::succeeded);
}

SCENARIO("the reset time of a rejected limit is kept") {
  const auto end = ended_with(
    {R"({"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1900000000}})",
     result(limit_text, {{"is_error", true}})});
  REQUIRE(end.why->details["resets_at"] == 1900000000);
}

SCENARIO("a missing login is told apart, and its words stay in the text") {
  const std::string words = "Invalid API key \u00B7 Please run /login";
  for (const auto flagged : {true, false}) {
    const auto end = ended_with({says(words), result(words, {{"is_error", flagged}})});
    REQUIRE(end.why->code == "AUTHENTICATION_FAILED");
    REQUIRE(end.text == words);
  }
  const auto end = exited_with({1, 0}, "warning: old node\n" + words + "\n");
  REQUIRE(end.why->code == "AUTHENTICATION_FAILED");
  REQUIRE(end.text == words);
  REQUIRE(end.why->details["exit_code"] == 1);
  REQUIRE(end.why->details["stderr"].get<std::string>().find(words) != std::string::npos);
}

SCENARIO(
  "a conversation that the agent does not know is lost, so that the turn can run without it") {
  conversation c{session_a};
  c.line(result("", {{"subtype", "error_during_execution"},
                     {"is_error", true},
                     {"num_turns", 0},
                     {"errors", {"No conversation found with session ID: x", ""}}}));
  REQUIRE(c.end().session_lost);
  REQUIRE(c.end().why->code == "SESSION_LOST");
  REQUIRE(c.of("session.lost").at(0)["session"] == session_a);
  REQUIRE(c.session.empty());
}

SCENARIO("a damaged conversation is named, with what helps") {
  const auto end =
    ended_with({result("API Error: 400 `tool_use` ids were found without `tool_result` blocks",
                       {{"is_error", true}})});
  REQUIRE(end.why->code == "SESSION_BROKEN");
  REQUIRE(end.why->message.find("reset the session") != std::string::npos);
}

SCENARIO("a process that ends without a result fails, and its partial text is kept") {
  auto end = exited_with({0, 0}, "", {init(), says("I finished everything")});
  REQUIRE(end.how == outcome::failed);
  REQUIRE(end.why->code == "NO_RESULT");
  REQUIRE(end.text == "I finished everything");
  end = exited_with({-1, 9}, "", {init()});
  REQUIRE(end.why->details["signal"] == 9);
  end = exited_with({0, 0}, "");
  REQUIRE(end.why->code == "CLAUDE_CLI_NO_PARSEABLE_OUTPUT");
  end = exited_with({3, 0}, "", {"just noise"});
  REQUIRE(end.why->code == "CLAUDE_CLI_NO_PARSEABLE_OUTPUT");
  REQUIRE(end.why->message.find("exit code 3") != std::string::npos);
}

SCENARIO("the result decides, not the exit code after it") {
  conversation c;
  c.line(result("fine"));
  c.exit({1, 0}, "boom");
  REQUIRE(c.ends.size() == 1);
  REQUIRE(c.end().how == outcome::succeeded);
}

SCENARIO("denials are told once, wherever the agent tells them") {
  const json listed = {
    {{"tool_name", "Write"}, {"tool_use_id", "t1"}, {"tool_input", {{"a", 1}, {"b", 2}}}},
    {{"tool_name", "Bash"}, {"tool_use_id", "t2"}}};
  const auto end =
    ended_with({system_line("permission_denied",
                            {{"tool_name", "Write"}, {"tool_use_id", "t1"}, {"message", "no"}}),
                system_line("permission_denied", {{"tool_name", "Edit"}, {"tool_use_id", "t3"}}),
                result("x", {{"permission_denials", listed}})});
  REQUIRE(end.denials.size() == 3);
}

SCENARIO("neighbour of B34: counts that cannot be are none, and the result stands") {
  conversation agent;
  agent.lines(
    {init(), says("fine"),
     result("fine", json::object({{"usage", json::object({{"input_tokens", -7},
                                                          {"output_tokens", 1e300},
                                                          {"cache_read_input_tokens", "x"}})},
                                  {"total_cost_usd", -1.0}}))});
  CHECK(agent.end().how == outcome::succeeded);
  CHECK(agent.end().usage.input == 0);
  CHECK(agent.end().usage.output >= 0);
  CHECK(agent.end().usage.cache_read == 0);
  CHECK(agent.end().cost_usd == 0);
}
