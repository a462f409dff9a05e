#include "agents/policy.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace tidemark;

SCENARIO("a policy is parsed by its name and nothing else") {
  for (const auto p : {policy::relaxed, policy::agent, policy::strict})
    REQUIRE(parse_policy(to_string(p)).value() == p);
  for (const auto* text : {"", "Strict", "strict ", "none"})
    REQUIRE(parse_policy(text).error().message.find("relaxed, agent or strict")
            != std::string::npos);
}

SCENARIO("a policy answers for the person who is not there") {
  const auto allows = [](policy p, std::string_view tool) {
    return answer_by_policy(p, tool).what == decision::allow;
  };
  REQUIRE(allows(policy::relaxed, "Anything"));
  for (const auto* tool : {"Bash", "Write", "WebFetch", "mcp__server__tool"}) {
    REQUIRE(allows(policy::agent, tool));
    REQUIRE_FALSE(allows(policy::strict, tool));
  }
  REQUIRE(allows(policy::strict, "Read"));
  for (const auto* tool : {"AskUserQuestion", "BrandNew", ""}) {
    REQUIRE_FALSE(allows(policy::agent, tool));
    REQUIRE_FALSE(allows(policy::strict, tool));
  }
}

SCENARIO("a denial always has words for the agent") {
  REQUIRE(answer_by_policy(policy::strict, "Bash").message.find("strict") != std::string::npos);
  REQUIRE_FALSE(answer_by_policy(policy::agent, "").message.empty());
}

SCENARIO("the summary of a policy says what an agent may do") {
  REQUIRE(summarize(policy::relaxed).allowed_tools.empty());
  REQUIRE(summarize(policy::agent).allowed_tools.size() == 9);
  REQUIRE(summarize(policy::agent).allow_command_execution);
  const auto strict = summarize(policy::strict);
  REQUIRE(strict.allowed_tools == std::vector<std::string>{"Read", "Glob", "Grep"});
  REQUIRE_FALSE(
    (strict.allow_network || strict.allow_file_modification || strict.allow_command_execution));
}

SCENARIO(
  "an agent whose requests are put to people is offered what asks, and not what never asks") {
  for (const auto p : {policy::agent, policy::strict}) {
    const auto offer = offer_for_asking(p);
    REQUIRE(offer.allowed_tools.empty());
    for (const auto* tool : {"Bash", "Write", "AskUserQuestion"})
      REQUIRE(std::ranges::count(offer.blocked_tools, tool) == 0);
    REQUIRE(std::ranges::count(offer.blocked_tools, "Skill") == 1);
  }
  REQUIRE(std::ranges::count(offer_for_asking(policy::strict).blocked_tools, "Task") == 1);
  REQUIRE(offer_for_asking(policy::relaxed).blocked_tools.empty());
}
