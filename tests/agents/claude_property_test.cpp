#include "agents/line_framer.hpp"
#include "tests/agents/claude_lines.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace tidemark;
using namespace tidemark::test;

namespace {

std::vector<std::string> sample_lines() {
  return {init(),
          message_start("m1"),
          block_start(0, text_block("")),
          text_delta(0, "Hel"),
          text_delta(0, "lo"),
          stream({{"type", "content_block_stop"}, {"index", 0}}),
          says("Hello", "m1"),
          says("more", "m2"),
          assistant(tool_use("t1", "Bash", {{"command", "ls"}, {"n", 1}})),
          assistant(tool_use("t2", "Agent"), "m3"),
          assistant(tool_use("t3", "Read"), "s1", "t2"),
          assistant(text_block("inner"), "s1", "t2"),
          tool_result("t1", "ok"),
          tool_result("t3", "ok", false, "t2"),
          tool_result("t2", json::array({text_block("x")}), true),
          permission_request("r1", "Bash", {{"command", "rm"}, {"n", 1}}),
          permission_request("r2", "Write", json::object()),
          R"({"type":"control_cancel_request","request_id":"r1"})",
          R"({"type":"control_request","request_id":"r3","request":{"subtype":"elicitation"}})",
          system_line("task_started", {{"task_id", "a"}}),
          system_line("api_retry", {{"retry_delay_ms", 5}}),
          R"({"type":"conversation_reset"})",
          R"({"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}})",
          result("more"),
          result("late", {{"origin", {{"kind", "peer"}, {"x", 1}}}}),
          "noise",
          "[]"};
}

/// Damages a line the way agents, terminals and full disks do.
std::string mutated(std::string line, std::mt19937& random) {
  const auto at = [&] { return line.empty() ? 0 : random() % line.size(); };
  switch (random() % 6) {
  case 0: return line.substr(0, at());
  case 1: line[at()] = static_cast<char>(random()); return line;
  case 2: line.insert(at(), "\xED\xA0\x80"); return line;
  case 3: line.insert(at(), line.substr(at(), 20)); return line;
  case 4: {
    auto parsed = parse_json(line);
    if (!parsed || !parsed->is_object() || parsed->empty())
      return line;
    auto member = parsed->begin();
    std::advance(member, random() % parsed->size());
    const json values[] = {nullptr, 7, "text", json::array({1}), json::object({{"a", 1}}), -1e300};
    *member = values[random() % std::size(values)];
    return dump_json(*parsed);
  }
  default: return line;
  }
}

} // namespace

SCENARIO("whatever an agent prints, items are completed, asks are settled and a turn ends once") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random{seed};
  const auto lines = sample_lines();
  for (int round = 0; round < 400; ++round) {
    conversation c;
    std::size_t turns = 1;
    for (int i = 0; i < 60; ++i) {
      const auto ended = c.ends.size();
      c.line(mutated(lines[random() % lines.size()], random), random() % 50 == 0);
      REQUIRE(c.ends.size() <= ended + 1);
      if (c.ends.size() == turns && random() % 2 == 0) {
        c.agent->begin_turn("next");
        ++turns;
      }
      if (random() % 30 == 0)
        c.agent->interrupt();
    }
    c.exit({0, 0}, "stderr");
    REQUIRE(c.ends.size() == turns);
    REQUIRE(c.broken_promise() == "");
    for (const auto& end : c.ends) {
      REQUIRE((end.how == outcome::succeeded) == !end.why.has_value());
      REQUIRE(end.cost_usd >= 0);
      if (end.why)
        REQUIRE_FALSE((end.why->message.empty() || end.why->message == "success"));
    }
  }
}

SCENARIO("raw garbage never throws") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random{seed};
  conversation c;
  line_framer framer{4096};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (auto& byte : bytes)
      byte = static_cast<char>(random() % 4 == 0 ? "{}[]\":,\n\\"[random() % 9] : random());
    framer.feed(bytes,
                [&](auto line, bool truncated, auto size) { c.line(line, truncated, size); });
  }
  c.exit({0, 0});
  REQUIRE(c.ends.size() == 1);
  REQUIRE(c.broken_promise() == "");
}
