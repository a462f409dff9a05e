#include "http/parse_body.hpp"
#include "http/problem.hpp"
#include "http/router.hpp"
#include "http/workspace_api.hpp"

#include "base/ids.hpp"

#include <fmt/format.h>

#include <utility>

// What agents wait for a person to decide, and the rules that persons have stored
// (docs/decisions/029-a-person-decides.md).
namespace tidemark {

namespace {

constexpr std::size_t longest_message = 16 << 10; ///< of a decision's message

json request_object(const pending_permission& request, const std::string& workspace) {
  auto object = request.asked; // the data of its event
  object["workspace"] = workspace;
  object["turn"] = request.turn;
  object["kind"] = request.is_question ? "question" : "permission";
  object["requested_at"] = iso8601(request.requested);
  // The clock may have been put forward since the event was written.
  object["expires_at"] = request.expires ? json(iso8601(*request.expires)) : json(nullptr);
  return object;
}

json rule_object(const permission_rule& rule) {
  auto object = json::object();
  object["rule"] = rule.id;
  object["tool"] = rule.tool;
  object["command"] = rule.command.empty() ? json(nullptr) : json(rule.command);
  object["by"] = rule.by;
  object["since"] = iso8601(rule.since);
  return object;
}

tl::unexpected<error> wrong_field(std::string_view field, std::string_view rule) {
  return fail(errc::invalid_argument, fmt::format("field \"{}\": {}", field, rule));
}

expected<decide_permission> parse_decision(const std::string& text) {
  const auto parsed = parse_members(text, {"decision", "message", "answers"});
  if (!parsed)
    return tl::make_unexpected(parsed.error());
  const auto& body = *parsed;
  decide_permission out;
  const auto word = string_or(body, "decision");
  if (word == "allow")
    out.what = person_decision::allow;
  else if (word == "allow_always")
    out.what = person_decision::allow_always;
  else if (word == "deny")
    out.what = person_decision::deny;
  else
    return wrong_field("decision", "must be \"allow\", \"allow_always\" or \"deny\"");
  if (const auto message = body.find("message"); message != body.end() && !message->is_null()) {
    if (!message->is_string())
      return wrong_field("message", "must be a string");
    out.message = message->get<std::string>();
    if (out.message.size() > longest_message)
      return wrong_field("message", fmt::format("must be at most {} bytes", longest_message));
  }
  if (const auto answers = body.find("answers"); answers != body.end() && !answers->is_null()) {
    if (!answers->is_object())
      return wrong_field("answers", "must be an object: text of each question -> answer");
    out.answers = *answers;
  }
  return out;
}

expected<std::string> workspace_named(const exchange& with) {
  return workspace_id::parse(with.param("id")).map([](const workspace_id& id) { return id.str(); });
}

task<void> list_requests(exchange& with) {
  const auto id = workspace_named(with);
  if (!id) {
    co_await send_error(with, id.error());
    co_return;
  }
  auto what = command{get_permissions{}};
  const auto reply = co_await with.ask<permissions_reply>(*id, false, std::move(what));
  if (!reply) {
    co_await send_error(with, reply.error());
    co_return;
  }
  auto body = json::object();
  body["pending"] = json::array();
  for (const auto& request : reply->pending)
    body["pending"].push_back(request_object(request, *id));
  body["rules"] = json::array();
  for (const auto& rule : reply->rules)
    body["rules"].push_back(rule_object(rule));
  co_await send_json(with, std::move(body));
}

/// Asks only the workspaces where something waits.
task<void> list_all_requests(exchange& with) {
  const auto all = co_await list_workspaces(with);
  if (!all) {
    co_await send_error(with, all.error());
    co_return;
  }
  auto body = json::object();
  body["pending"] = json::array();
  for (const auto& workspace : **all) {
    if (workspace.open_requests == 0)
      continue;
    auto what = command{get_permissions{}};
    const auto reply = co_await with.ask<permissions_reply>(workspace.id, false, std::move(what));
    if (!reply)
      continue; // it is starting anew, and its turn ends with that
    for (const auto& request : reply->pending)
      body["pending"].push_back(request_object(request, workspace.id));
  }
  co_await send_json(with, std::move(body));
}

problem settled_before(const decide_reply& reply) {
  problem out;
  out.status = 409;
  out.code = "permission_resolved";
  out.detail = fmt::format("it was settled before: {} by {}", reply.decision, reply.by);
  out.facts["decision"] = reply.decision;
  out.facts["by"] = reply.by;
  return out;
}

task<void> decide_request(exchange& with) {
  const auto id = workspace_named(with);
  if (!id) {
    co_await send_error(with, id.error());
    co_return;
  }
  auto said = co_await parse_body(with, parse_decision);
  if (!said) {
    co_await send_error(with, said.error());
    co_return;
  }
  said->permission = with.param("permission");
  said->by = with.who().name;
  auto what = command{std::move(*said)};
  const auto reply = co_await with.ask<decide_reply>(*id, false, std::move(what));
  if (!reply) {
    co_await send_error(with, reply.error());
    co_return;
  }
  if (!reply->first) {
    auto late = settled_before(*reply);
    co_await send_problem(with, std::move(late));
    co_return;
  }
  auto body = json::object();
  body["permission"] = with.param("permission");
  body["decision"] = reply->decision;
  body["by"] = reply->by;
  body["rule"] = reply->rule.empty() ? json(nullptr) : json(reply->rule);
  co_await send_json(with, std::move(body));
}

task<void> forget_rule(exchange& with) {
  const auto id = workspace_named(with);
  if (!id) {
    co_await send_error(with, id.error());
    co_return;
  }
  auto removed = remove_rule{};
  removed.rule = with.param("rule");
  removed.by = with.who().name;
  auto what = command{std::move(removed)};
  const auto reply = co_await with.ask<done>(*id, false, std::move(what));
  if (!reply) {
    co_await send_error(with, reply.error());
    co_return;
  }
  auto body = json::object();
  body["rule"] = with.param("rule");
  body["removed"] = true;
  co_await send_json(with, std::move(body));
}

} // namespace

void add_permission_routes(router& to) {
  to.add("GET", "/api/v1/permissions", list_all_requests);
  to.add("GET", "/api/v1/workspaces/{id}/permissions", list_requests);
  to.add("POST", "/api/v1/workspaces/{id}/permissions/{permission}", decide_request);
  to.add("DELETE", "/api/v1/workspaces/{id}/permissions/rules/{rule}", forget_rule);
}

} // namespace tidemark
