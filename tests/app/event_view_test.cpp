#include "app/event_view.hpp"

#include <catch2/catch.hpp>

#include <sstream>

using namespace tidemark;

namespace {

json parsed(std::string_view text) {
  auto value = parse_json(text);
  REQUIRE(value);
  return *value;
}

} // namespace

SCENARIO("a turn's answer goes to stdout, everything about it to stderr") {
  std::ostringstream out;
  std::ostringstream err;
  terminal to{out, err, false};
  turn_view view{to};
  for (
    const auto* line :
    {R"({"type":"turn.started","data":{"agent":{"name":"demo","version":"1"}}})",
     R"({"type":"item.started","data":{"item":{"id":"r","kind":"reasoning","role":"assistant"}}})",
     R"({"type":"item.delta","data":{"item":"r","text":"hidden"}})",
     R"({"type":"item.started","data":{"item":{"id":"m","kind":"message","role":"assistant"}}})",
     R"({"type":"item.delta","data":{"item":"m","text":"Hel"}})",
     R"({"type":"item.delta","data":{"item":"m","text":"lo\u001b[2J"}})",
     R"({"type":"item.completed","data":{"item":{"id":"m","kind":"message","role":"assistant","text":"Hello"}}})",
     R"({"type":"item.completed","data":{"item":{"id":"t","kind":"tool_call","name":"Bash","input":{"command":"ls"},"status":"completed"}}})",
     R"({"type":"item.completed","data":{"item":{"id":"u","kind":"tool_result","content":"a.txt"}}})",
     R"({"type":"item.completed","data":{"item":{"id":"n","kind":"message","role":"assistant","text":"whole"}}})",
     R"({"type":"turn.completed","data":{"outcome":"failed","error":{"code":"RATE_LIMITED","message":"later"}}})"})
    view.show(parsed(line));
  CHECK(out.str() == "Hello\\x1b[2J\nwhole\n");
  CHECK_THAT(err.str(), Catch::Contains("Bash ls") && Catch::Contains("← a.txt")
                          && Catch::Contains("failed: RATE_LIMITED: later"));
}

SCENARIO("a request that waits is shown with what it is about and the command that decides on it") {
  std::ostringstream out;
  std::ostringstream err;
  terminal to{out, err, false};
  turn_view view{to, "http://host:1"};
  for (
    const auto* line :
    {R"({"type":"permission.requested","workspace":"docs","data":{"permission":"p1","tool":"Bash","input":{"command":"rm -r\nx"},"expires_at":"2026-11-30T01:00:00Z"}})",
     R"({"type":"permission.resolved","workspace":"docs","data":{"permission":"p1","tool":"Bash","decision":"deny","by":"ann","message":"not this"}})",
     R"({"type":"question.requested","workspace":"docs","data":{"permission":"p2","tool":"AskUserQuestion","input":{"questions":[{"question":"What's it?","options":[{"label":"red"}]},{"question":"Why?"}]},"expires_at":"2026-11-30T01:00:00Z"}})",
     R"({"type":"question.resolved","workspace":"docs","data":{"permission":"p2","tool":"AskUserQuestion","decision":"allow","by":"bob","answers":{"Why?":"so"}}})"})
    view.show(parsed(line));
  CHECK(out.str().empty());
  CHECK_THAT(
    err.str(),
    Catch::Contains("Bash asks: rm -r x")
      && Catch::Contains("tidemark decide docs p1 allow|always|deny --server http://host:1")
      && Catch::Contains("Bash: denied by ann: not this") && Catch::Contains("What's it? · Why?")
      && Catch::Contains("red")
      && Catch::Contains(R"(decide docs p2 allow --answer 'What'\''s it?=…' --answer 'Why?=…')")
      && Catch::Contains("answered by bob"));
}

SCENARIO("a request that the policy decides asks nobody for a command") {
  std::ostringstream err;
  terminal to{err, err, false};
  turn_view view{to};
  view.show(parsed(
    R"({"type":"permission.requested","workspace":"docs","data":{"permission":"p1","tool":"Bash","input":{"command":"ls"}}})"));
  CHECK_THAT(err.str(), Catch::Contains("ls") && !Catch::Contains("tidemark decide"));
}

SCENARIO("an event is one line, whatever its text holds") {
  std::ostringstream out;
  const terminal to{out, out, false};
  const auto line =
    event_line(to, parsed(R"({"offset":7,"time":"2026-11-29T17:05:09.042Z","type":"turn.queued",)"
                          R"("data":{"prompt_preview":"a\nb\u001b]0;x\u0007"}})"));
  CHECK(line.find('\n') == std::string::npos);
  CHECK_THAT(line,
             Catch::Contains("17:05:09.042 turn.queued") && Catch::EndsWith("a b\\x1b]0;x\\x07"));
  CHECK_FALSE(event_line(to, parsed("{}")).empty());
  const auto asks = parsed(
    R"({"type":"permission.requested","workspace":"docs","data":{"permission":"p1","tool":"Bash","input":{"command":"ls\nx"},"expires_at":"2026-11-30T01:00:00Z"}})");
  CHECK_THAT(event_line(to, asks), Catch::EndsWith("Bash ls x (p1)"));
  CHECK(decide_hint(asks, "http://host:1")
        == ", decide: tidemark decide docs p1 allow|always|deny --server http://host:1");
  CHECK(decide_hint(parsed(R"({"type":"turn.queued","data":{}})"), {}).empty());
}

SCENARIO("a command that answers a question is one line, whatever the question holds") {
  const auto asks =
    parsed(R"({"permission":"p1","input":{"questions":[{"question":"Which?\nIt's \\ now"}]}})");
  CHECK(decide_line("docs", asks)
        == R"(tidemark decide docs p1 allow --answer $'Which?\nIt\'s \\ now=…')");
}

SCENARIO("what a turn changed and what retention took is said in the event's line") {
  std::ostringstream out;
  const terminal to{out, out, false};
  const auto changed =
    parsed(R"({"type":"turn.changes","data":{"files":[{"path":"a.txt"},{"path":"b.txt"}]}})");
  CHECK_THAT(event_line(to, changed), Catch::EndsWith("a.txt, b.txt"));
  const auto unknown = parsed(R"({"type":"turn.changes","data":{"problem":"no git"}})");
  CHECK_THAT(event_line(to, unknown), Catch::EndsWith("no git"));
  const auto removed =
    parsed(R"({"type":"events.removed","data":{"from":1,"to":14,"reason":"turns"}})");
  CHECK_THAT(event_line(to, removed), Catch::EndsWith("1 to 14 (turns)"));
}
