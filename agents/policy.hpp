#pragma once

#include "agents/adapter.hpp"
#include "base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// What an agent may do in a workspace (contracts: workspace API v1, `RUNTIME_POLICY`).
enum class policy { relaxed, agent, strict };

/// Errors: `invalid_argument` naming the three policies.
expected<policy> parse_policy(std::string_view text);
std::string_view to_string(policy p) noexcept;

/// The tools and rights of a policy, as the status endpoint shows them.
struct policy_summary {
  std::vector<std::string> allowed_tools; ///< empty: no limit
  std::vector<std::string> blocked_tools;
  bool allow_network = false;
  bool allow_file_modification = false;
  bool allow_command_execution = false;
};
policy_summary summarize(policy p);

/// The same as limits for an agent whose requests are put to people: what asks before it runs is
/// offered, and only what never asks stays blocked.
policy_summary offer_for_asking(policy p);

/// A decision and the words for the agent if it is a denial.
struct policy_answer {
  decision what = decision::deny;
  std::string message;
};

/// Decides a permission request while no person can be asked: `relaxed` allows all, `agent` allows
/// its own tools, `strict` allows only what reads. Unknown tools are denied by `agent` and `strict`.
policy_answer answer_by_policy(policy p, std::string_view tool);

} // namespace tidemark
