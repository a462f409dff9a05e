#include "agents/policy.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tidemark {

namespace {

// contracts: workspace API v1, Sessions, settings, policy.
constexpr std::array<std::string_view, 9> agent_tools{
  "Read", "Glob", "Grep", "Write", "Edit", "Bash", "Task", "WebFetch", "WebSearch"};
constexpr std::array<std::string_view, 9> agent_blocked{
  "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Skill",       "TaskOutput",
  "TaskStop",        "ToolSearch",    "TodoWrite",    "NotebookEdit"};
constexpr std::array<std::string_view, 3> strict_tools{"Read", "Glob", "Grep"};
constexpr std::array<std::string_view, 6> strict_blocked{"Bash", "Write",    "Edit",
                                                         "Task", "WebFetch", "WebSearch"};

// Tools that run without asking for permission.
constexpr std::array<std::string_view, 6> agent_unasked{"EnterPlanMode", "Skill",      "TaskOutput",
                                                        "TaskStop",      "ToolSearch", "TodoWrite"};
constexpr std::array<std::string_view, 7> strict_unasked{
  "Task", "EnterPlanMode", "Skill", "TaskOutput", "TaskStop", "ToolSearch", "TodoWrite"};

template <std::size_t N>
std::vector<std::string> names(const std::array<std::string_view, N>& list) {
  return {list.begin(), list.end()};
}

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& list, std::string_view tool) {
  return std::ranges::find(list, tool) != list.end();
}

bool allows(policy p, std::string_view tool) {
  switch (p) {
  case policy::relaxed: return true;
  // The subagent tool is called Task or Agent, by version. MCP tools come from the workspace's own
  // .mcp.json, which is used without prompts; an agent with Bash gains no right by them.
  case policy::agent:
    return holds(agent_tools, tool) || tool == "Agent" || tool.starts_with("mcp__");
  case policy::strict: return holds(strict_tools, tool);
  }
  return false;
}

} // namespace

expected<policy> parse_policy(std::string_view text) {
  for (const auto p : {policy::relaxed, policy::agent, policy::strict})
    if (text == to_string(p))
      return p;
  return fail(errc::invalid_argument,
              fmt::format("unknown policy \"{}\": choose relaxed, agent or strict", text));
}

std::string_view to_string(policy p) noexcept {
  switch (p) {
  case policy::relaxed: return "relaxed";
  case policy::agent: return "agent";
  case policy::strict: return "strict";
  }
  return "strict";
}

policy_summary summarize(policy p) {
  switch (p) {
  case policy::relaxed: return {{}, {}, true, true, true};
  case policy::agent: return {names(agent_tools), names(agent_blocked), true, true, true};
  case policy::strict: break;
  }
  return {names(strict_tools), names(strict_blocked), false, false, false};
}

policy_summary offer_for_asking(policy p) {
  auto offer = summarize(p);
  offer.allowed_tools.clear();
  offer.blocked_tools.clear();
  if (p == policy::agent)
    offer.blocked_tools = names(agent_unasked);
  else if (p == policy::strict)
    offer.blocked_tools = names(strict_unasked);
  return offer;
}

policy_answer answer_by_policy(policy p, std::string_view tool) {
  if (allows(p, tool))
    return {decision::allow, {}};
  return {decision::deny,
          fmt::format("Denied by policy: {} does not allow {}", to_string(p),
                      tool.empty() ? "a tool without a name" : tool.substr(0, 200))};
}

} // namespace tidemark
