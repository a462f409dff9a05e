#include "actors/workspace_permissions.hpp"

#include "storage/hash_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

namespace tidemark {
namespace {

/// What a stored rule allows of a request: its tool, and of a tool that runs commands just this input.
struct rule_scope {
  std::string tool;
  std::string fingerprint;
  std::string command;
};

constexpr std::size_t longest_command = 400; ///< that people are shown of a rule

const std::string& shown_tool(const permission_ask& ask) {
  return ask.shown_tool.empty() ? ask.tool : ask.shown_tool;
}

rule_scope scope_of(const permission_ask& ask) {
  rule_scope scope;
  scope.tool = shown_tool(ask);
  const auto command =
    ask.input.find("command"); // of whatever type: some tools take a list of words
  if (command == ask.input.end())
    return scope;
  // All that decides what runs: a command outside of the sandbox is not the same command.
  auto input = ask.input;
  input.erase("description");
  auto hasher = sha256_hasher{};
  scope.fingerprint = to_hex(hasher.of(dump_json(input)));
  const auto text = command->is_string() ? command->get<std::string>() : dump_json(*command);
  scope.command = repair_utf8(std::string_view{text}.substr(0, longest_command));
  return scope;
}

/// Of a request that waits: what its event says.
rule_scope scope_of(const pending_permission& request) {
  const auto& always = object_at(request.asked, "always");
  return {string_or(always, "tool"), string_or(always, "fingerprint"),
          string_or(always, "command")};
}

const permission_rule* rule_for(const workspace_state& state, const rule_scope& scope) {
  const auto covers = [&](const permission_rule& rule) {
    return rule.tool == scope.tool && rule.fingerprint == scope.fingerprint;
  };
  const auto found = std::ranges::find_if(state.permission_rules, covers);
  return found == state.permission_rules.end() ? nullptr : &*found;
}

verdict by_policy(const workspace_rules& rules, const permission_ask& ask) {
  auto answered = answer_by_policy(rules.rights, ask.tool);
  // What decides may hold a secret; what is said must not.
  if (answered.what == decision::deny)
    answered.message = answer_by_policy(rules.rights, shown_tool(ask)).message;
  return {decider::policy, answered.what, std::move(answered.message), {}};
}

/// How one request ends.
struct resolution {
  decision what = decision::deny;
  std::string by;
  std::string via; ///< `client`: `by` is the name of a token
  std::string message;
  std::string rule;
  json answers = nullptr;
  bool synthetic = false;
};

void emit_resolved(workspace_draft& d, const pending_permission& request, const resolution& how) {
  json data = json::object();
  data["permission"] = request.id;
  if (const auto tool = string_at(request.asked, "tool"))
    data["tool"] = *tool;
  data["decision"] = how.what == decision::allow ? "allow" : "deny";
  data["by"] = how.by;
  data["message"] = how.message;
  if (!how.via.empty())
    data["via"] = how.via;
  if (how.by == "policy" && how.via.empty())
    data["policy"] = to_string(d.rules().rights);
  if (!how.rule.empty())
    data["rule"] = how.rule;
  if (how.answers.is_object())
    data["answers"] = how.answers;
  if (how.synthetic)
    data["synthetic"] = true;
  d.emit(request.is_question ? "question.resolved" : "permission.resolved", request.turn, data);
}

/// Precondition: the request waits.
void settle(workspace_draft& d, const std::string& id, const resolution& how) {
  const auto request = d.state().open_permissions.at(id); // its event removes it
  emit_resolved(d, request, how);
  d.run(answer_permission{session_answer{id, how.what, how.message, how.answers}});
}

/// Stores what `allow_always` allows, unless a rule does so already. Returns the rule's id.
std::string store_rule(workspace_draft& d, const rule_scope& scope, const std::string& by) {
  if (const auto* known = rule_for(d.state(), scope))
    return known->id;
  auto id = fmt::format("rule-{}", d.state().head.next().value); // unique within an epoch
  json data = json::object();
  data["rule"] = id;
  data["change"] = "added";
  data["tool"] = scope.tool;
  data["command"] = scope.command;
  data["fingerprint"] = scope.fingerprint;
  data["by"] = by;
  d.emit(rule_event, {}, data);
  return id;
}

/// What waits meanwhile and is covered by the new rule needs no second answer.
void settle_covered(workspace_draft& d, const rule_scope& scope, const std::string& rule) {
  std::vector<std::string> covered;
  for (const auto& [id, request] : d.state().open_permissions) {
    const auto own = scope_of(request);
    if (request.expires && !request.is_question && own.tool == scope.tool
        && own.fingerprint == scope.fingerprint)
      covered.push_back(id);
  }
  for (const auto& id : covered) {
    resolution how;
    how.what = decision::allow;
    how.by = "rule";
    how.rule = rule;
    settle(d, id, how);
  }
}

expected<void> check_answers(const pending_permission& request, const json& answers) {
  const auto& input = object_at(request.asked, "input");
  for (const auto& [text, each] : answers.items())
    if (!each.is_string())
      return fail(errc::invalid_argument,
                  fmt::format("answers: the answer to \"{}\" must be a string", text));
  if (answers.empty())
    return fail(errc::invalid_argument, "a question is allowed with its answers, or denied");
  if (bool_or(input, "truncated", false))
    return {}; // the questions were too long to be kept: the agent knows them
  std::size_t known = 0;
  for (const auto& question : array_at(input, "questions")) {
    const auto text = string_or(question, "question");
    if (!answers.contains(text))
      return fail(errc::invalid_argument, fmt::format("answers: \"{}\" has no answer", text));
    ++known;
  }
  if (answers.size() > known)
    return fail(errc::invalid_argument, "answers: some belong to none of the questions");
  return {};
}

expected<void> check_decision(const workspace_state& state, const pending_permission& request,
                              const decide_permission& what) {
  if (what.message.size() + dump_json(what.answers).size() > max_decision_bytes)
    return fail(errc::too_large,
                fmt::format("message and answers take more than {} bytes", max_decision_bytes));
  if (!request.is_question) {
    if (!what.answers.empty())
      return fail(errc::invalid_argument, "only a question takes answers");
    if (what.what == person_decision::allow_always
        && state.permission_rules.size() >= max_permission_rules)
      return fail(errc::too_large, fmt::format("the workspace has {} rules: remove some",
                                               state.permission_rules.size()));
    return {};
  }
  if (what.what == person_decision::allow_always)
    return fail(errc::invalid_argument, "a question is answered anew each time");
  if (what.what == person_decision::allow)
    return check_answers(request, what.answers);
  return {};
}

resolution as_decided(const pending_permission& request, const decide_permission& what) {
  resolution how;
  how.what = what.what == person_decision::deny ? decision::deny : decision::allow;
  how.by = what.by.empty() ? "client" : what.by;
  how.via = "client";
  how.message = repair_utf8(what.message);
  if (how.what == decision::deny && how.message.empty())
    how.message = request.is_question ? "The person does not answer" : "Denied by a person";
  if (request.is_question && how.what == decision::allow)
    how.answers = what.answers;
  return how;
}

} // namespace

verdict judge_request(const workspace_state& state, const workspace_rules& rules,
                      const permission_ask& ask, bool live) {
  auto judged = by_policy(rules, ask);
  if (rules.ask == ask_people::never)
    return judged;
  if (!ask.is_question) {
    if (const auto* rule = rule_for(state, scope_of(ask)))
      return {decider::rule, decision::allow, {}, rule->id};
    if (rules.ask == ask_people::denied && judged.what == decision::allow)
      return judged;
  }
  if (!live)
    return denied_unasked();
  return {decider::person, decision::deny, {}, {}};
}

verdict denied_unasked() {
  return {decider::policy, decision::deny, "Denied: nobody can be asked now", {}};
}

void put_to_person(json& data, const permission_ask& ask, const workspace_draft& d) {
  const auto limit = d.rules().permission_timeout;
  data["timeout_s"] = limit.count();
  data["expires_at"] = iso8601(d.now().plus(limit));
  if (ask.is_question)
    return;
  const auto scope = scope_of(ask);
  json always = json::object();
  always["tool"] = scope.tool;
  always["command"] = scope.command;
  always["fingerprint"] = scope.fingerprint;
  data["always"] = std::move(always);
}

void settle_request(workspace_draft& d, const permission_ask& ask, const verdict& judged) {
  resolution how;
  how.what = judged.what;
  how.by = judged.by == decider::rule ? "rule" : "policy";
  how.message = judged.message;
  how.rule = judged.rule;
  if (const auto& open = d.state().open_permissions; open.contains(ask.id))
    return settle(d, ask.id, how);
  d.run(answer_permission{session_answer{ask.id, how.what, how.message}});
}

void withdraw_permission(workspace_draft& d, const std::string& permission, std::string_view by,
                         std::string_view why) {
  const auto found = d.state().open_permissions.find(permission);
  if (found == d.state().open_permissions.end())
    return;
  resolution how;
  how.by = by;
  how.message = why;
  how.synthetic = true;
  const auto request = found->second; // its event removes it
  emit_resolved(d, request, how);
}

void withdraw_open_permissions(workspace_draft& d, std::string_view by, std::string_view why) {
  std::vector<std::string> open;
  for (const auto& id : std::views::keys(d.state().open_permissions))
    open.push_back(id);
  for (const auto& id : open)
    withdraw_permission(d, id, by, why);
}

void expire_permissions(workspace_draft& d) {
  std::vector<std::string> expired;
  for (const auto& [id, request] : d.state().open_permissions)
    if (request.expires && *request.expires <= d.now())
      expired.push_back(id);
  for (const auto& id : expired) {
    resolution how;
    how.by = "timeout";
    how.message = fmt::format("Denied: nobody decided within {} s",
                              int_or(d.state().open_permissions.at(id).asked, "timeout_s", 0));
    settle(d, id, how);
  }
}

expected<answer> decide_request(workspace_draft& d, const decide_permission& what) {
  const auto& state = d.state();
  const auto found = state.open_permissions.find(what.permission);
  if (found == state.open_permissions.end() || !found->second.expires) {
    const auto settled =
      std::ranges::find(state.settled_permissions, what.permission, &settled_permission::id);
    if (settled == state.settled_permissions.end())
      return fail(errc::not_found,
                  fmt::format("no request \"{}\" waits for a decision", what.permission));
    return answer{decide_reply{false, settled->decision, settled->by, {}}};
  }
  const auto request = found->second;
  if (*request.expires <= d.now()) { // its timer is about to say so
    expire_permissions(d);
    return answer{decide_reply{false, "deny", "timeout", {}}};
  }
  if (auto fits = check_decision(state, request, what); !fits)
    return tl::make_unexpected(std::move(fits.error()));
  auto how = as_decided(request, what);
  const auto scope = scope_of(request);
  if (what.what == person_decision::allow_always)
    how.rule = store_rule(d, scope, how.by);
  settle(d, what.permission, how);
  if (!how.rule.empty())
    settle_covered(d, scope, how.rule);
  return answer{
    decide_reply{true, how.what == decision::allow ? "allow" : "deny", how.by, how.rule}};
}

permissions_reply list_permissions(const workspace_state& state) {
  permissions_reply reply;
  for (const auto& request : std::views::values(state.open_permissions))
    if (request.expires)
      reply.pending.push_back(request);
  std::ranges::stable_sort(reply.pending, {}, &pending_permission::requested);
  reply.rules = state.permission_rules;
  return reply;
}

expected<answer> forget_rule(workspace_draft& d, const remove_rule& what) {
  const auto& rules = d.state().permission_rules;
  const auto found = std::ranges::find(rules, what.rule, &permission_rule::id);
  if (found == rules.end())
    return fail(errc::not_found, fmt::format("there is no rule \"{}\"", what.rule));
  json data = json::object();
  data["rule"] = found->id;
  data["change"] = "removed";
  data["tool"] = found->tool;
  data["command"] = found->command;
  data["by"] = what.by;
  d.emit(rule_event, {}, data);
  return answer{done{}};
}

} // namespace tidemark
