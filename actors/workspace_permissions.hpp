#pragma once

#include "actors/workspace_draft.hpp"

#include <cstddef>
#include <string>
#include <string_view>

// What the agent may do only if somebody allows it: by policy, by a rule that a person has stored, or by
// a person who is asked (docs/decisions/029-a-person-decides.md).
namespace tidemark {

/// A rule was stored or removed.
inline constexpr std::string_view rule_event = "permission.rule";

/// More decisions that come too late than this hear "unknown" instead of "settled".
inline constexpr std::size_t max_settled_permissions = 200;
inline constexpr std::size_t max_permission_rules = 1000;
/// Of what a person writes into one decision.
inline constexpr std::size_t max_decision_bytes = 256 << 10;

enum class decider { policy, rule, person };

/// Who answers a request, and how unless that is a person.
struct verdict {
  decider by = decider::policy;
  decision what = decision::deny;
  std::string message; ///< for the agent, of a denial
  std::string rule;    ///< its id, if it is one that decides
};

/// Judges by the settings and rules of this moment. A person is asked only within a turn that is
/// `live`: what would need one outside of it is denied.
verdict judge_request(const workspace_state& state, const workspace_rules& rules,
                      const permission_ask& ask, bool live);

/// What a request that should go to a person gets where none can be asked.
verdict denied_unasked();

/// Adds to the data of a request's event what those who decide need to know: until when, and what
/// `allow_always` would allow.
void put_to_person(json& data, const permission_ask& ask, const workspace_draft& d);

/// Resolves a request as judged and answers the agent.
void settle_request(workspace_draft& d, const permission_ask& ask, const verdict& judged);

/// Resolves one request whose agent waits no more. Does nothing if it is settled.
void withdraw_permission(workspace_draft& d, const std::string& permission, std::string_view by,
                         std::string_view why);

/// Denies what nobody has decided in time.
void expire_permissions(workspace_draft& d);

/// A person decides. Errors: `not_found` if no such request waits or was settled lately;
/// `invalid_argument` if the answers do not fit the questions, or the decision does not fit what was
/// asked; `too_large` with too many rules or too long an answer.
expected<answer> decide_request(workspace_draft& d, const decide_permission& what);

/// The requests that wait for a person, oldest first, and the rules.
permissions_reply list_permissions(const workspace_state& state);

/// Errors: `not_found`.
expected<answer> forget_rule(workspace_draft& d, const remove_rule& what);

} // namespace tidemark
