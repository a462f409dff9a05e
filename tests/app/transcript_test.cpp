#include "app/transcript.hpp"

#include <catch2/catch.hpp>

#include <sstream>

using namespace tidemark;

namespace {

std::string told(const std::vector<std::string>& events, bool full = false) {
  std::ostringstream out;
  terminal to{out, out, false};
  transcript view{to, full};
  for (const auto& e : events) {
    const auto parsed = parse_json(e);
    REQUIRE(parsed);
    view.show(*parsed);
  }
  return out.str();
}

} // namespace

SCENARIO("a turn is told from its prompt to its end, with what tools were given and gave") {
  const auto text = told(
    {R"({"type":"turn.queued","workspace":"docs","turn":"t1","time":"2026-11-29T17:05:09.042Z","data":{"prompt":"a\nb","source":"chat","by":"ci"}})",
     R"({"type":"item.completed","data":{"item":{"kind":"reasoning","text":"thinking"}}})",
     R"({"type":"item.completed","data":{"item":{"kind":"message","role":"user","text":"for a helper"}}})",
     R"({"type":"item.completed","data":{"item":{"kind":"tool_call","name":"Bash","input":{"command":"ls"}}}})",
     R"({"type":"item.completed","data":{"item":{"kind":"tool_result","content":"a.txt\u001b[2J"}}})",
     R"({"type":"item.completed","data":{"item":{"kind":"message","role":"assistant","text":"There is a.txt."}}})",
     R"({"type":"turn.completed","data":{"outcome":"succeeded","duration_ms":1500,"usage":{"input":3000,"output":45},"cost_usd":0.0123,"model":"m-1"}})"});
  CHECK(text
        == "docs · t1\n2026-11-29T17:05:09.042Z · chat · by ci\n\n> a\n> b\n\n"
           "  │ thinking\n\n"
           "→ Bash\n  │ ls\n  │ a.txt\\x1b[2J\n\n"
           "There is a.txt.\n\n"
           "succeeded in 1.5 s · 3.0 k tokens in, 45 out · 0.0123 USD · m-1\n");
}

SCENARIO("a turn that nobody says the source of is told without one") {
  CHECK_THAT(
    told(
      {R"({"type":"turn.queued","workspace":"docs","turn":"t1","time":"2026-11-29T17:05:09.042Z","data":{"prompt":"a","source":"","by":"ci"}})"}),
    Catch::Contains("2026-11-29T17:05:09.042Z · by ci\n"));
}

SCENARIO("long output of a tool is cut, unless all is wanted; a failure says why") {
  std::string lines;
  for (int i = 1; i <= 15; ++i)
    lines += "line " + std::to_string(i) + "\\n";
  const std::vector<std::string> events{
    R"({"type":"item.completed","data":{"item":{"kind":"tool_result","content":")" + lines
      + R"("}}})",
    R"({"type":"turn.completed","data":{"outcome":"failed","error":{"code":"RATE_LIMITED","message":"later"}}})"};
  CHECK_THAT(told(events), Catch::Contains("… 5 more lines (--full)") && !Catch::Contains("line 11")
                             && Catch::Contains("RATE_LIMITED: later\nfailed in 0.0 s"));
  CHECK_THAT(told(events, true), Catch::Contains("line 15") && !Catch::Contains("more lines"));
}
