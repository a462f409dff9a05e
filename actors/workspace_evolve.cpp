#include "actors/workspace_draft.hpp"
#include "actors/workspace_permissions.hpp"

#include "agents/bounded_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tidemark {
namespace {

using applier = void (*)(workspace_state&, const event_view&, const json&);

void created(workspace_state& s, const event_view& e, const json& data) {
  s.created = e.time;
  s.agent = string_or(data, "agent");
  s.metadata = object_at(data, "metadata");
}

void configured(workspace_state& s, const event_view&, const json& data) {
  s.retain = object_at(data, "retain");
}

/// Every item has been completed by now; but not in logs that older versions wrote.
void forget_items(workspace_state& s, std::string_view turn) {
  std::erase_if(s.open_items, [&](const auto& each) { return each.second.turn == turn; });
}

/// The running turn goes back to the head of the queue.
void requeued(workspace_state& s, const event_view& e) {
  if (!s.running || s.running->turn != e.turn)
    return;
  forget_items(s, e.turn);
  s.queue.push_front(std::move(*s.running));
  s.queue.front().started.reset();
  s.running.reset();
}

void queued(workspace_state& s, const event_view& e, const json& data) {
  if (bool_or(data, "again", false))
    return requeued(s, e);
  const auto& options = object_at(data, "options");
  turn_record t;
  t.turn = e.turn;
  t.source = string_or(data, "source");
  t.prompt = string_or(data, "prompt");
  t.preview = string_or(data, "prompt_preview");
  t.model = string_or(options, "model");
  t.queued_at = e.at;
  t.enqueued = e.time;
  if (const auto limit = int_or(options, "timeout_s", 0); limit > 0)
    t.timeout = std::chrono::seconds{limit};
  t.on_restart =
    string_or(options, "on_restart") == "retry" ? restart_rule::retry : restart_rule::interrupt;
  t.needs_environment = !array_at(options, "env_names").empty();
  t.holds_result = bool_or(options, "holds_result", false);
  t.metadata = object_at(options, "metadata");
  t.idempotency_key = string_or(data, "idempotency_key");
  if (!t.idempotency_key.empty()) {
    s.idempotency.push_back({t.idempotency_key, t.turn, string_or(data, "body_hash"), e.at});
    if (s.idempotency.size() > max_remembered_keys)
      s.idempotency.pop_front();
  }
  s.queue.push_back(std::move(t));
}

void started(workspace_state& s, const event_view& e, const json& data) {
  const auto attempt = static_cast<int>(int_or(data, "attempt", 1));
  if (s.running && s.running->turn == e.turn) {
    s.running->attempt = attempt;
    return;
  }
  const auto found = std::ranges::find(s.queue, e.turn, &turn_record::turn);
  if (found == s.queue.end())
    return;
  s.running = std::move(*found);
  s.queue.erase(found);
  s.running->started = e.time;
  s.running->attempt = attempt;
}

void count_account_failures(workspace_state& s, const std::string& how, const std::string& code) {
  if (fails_for_all(code)) {
    ++s.auth_failures;
  } else if (how == "succeeded" || how == "failed") {
    s.auth_failures = 0;
    s.paused_until.reset();
  }
}

pending_result held_result(const turn_record& turn, const event_view& e, const json& data) {
  pending_result r;
  r.id = turn.turn;
  r.turn = turn.turn;
  r.source = turn.source;
  r.created = e.time;
  r.is_error = string_or(data, "outcome") != "succeeded";
  r.text = string_or(data, "text");
  if (r.is_error) {
    const auto& why = object_at(data, "error");
    r.error_code = string_or(why, "code", "INTERNAL_ERROR");
    r.text = string_or(why, "message", "the turn failed");
  }
  return r;
}

void completed(workspace_state& s, const event_view& e, const json& data) {
  const auto* found = find_turn(s, e.turn);
  if (!found)
    return;
  forget_items(s, e.turn);
  const auto turn = *found;
  const auto how = string_or(data, "outcome");
  if (turn.holds_result && how != "cancelled")
    s.undelivered[turn.turn] = held_result(turn, e, data);
  if (s.running && s.running->turn == turn.turn)
    s.running.reset();
  else
    std::erase_if(s.queue, [&](const auto& q) { return q.turn == turn.turn; });
  if (const auto session = string_at(data, "session"))
    s.session = *session;
  count_account_failures(s, how, string_or(object_at(data, "error"), "code"));
}

/// An agent may begin its conversation anew after a turn has ended; in a turn the turn's end decides.
void follow_session(workspace_state& s, const event_view& e, const json& data) {
  const auto before = string_or(data, "follows");
  if (e.turn.empty() && !before.empty() && before == s.session)
    s.session = string_or(data, "session", s.session);
}

void session_started(workspace_state& s, const event_view& e, const json& data) {
  follow_session(s, e, data);
  if (data.contains("mcp_servers"))
    s.mcp_servers = array_at(data, "mcp_servers");
  const auto& tools = array_at(data, "tools");
  if (tools.empty())
    return;
  std::vector<std::string> names;
  for (const auto& tool : tools)
    if (tool.is_string())
      names.push_back(tool.get<std::string>());
  s.tools = std::move(names);
}

void session_lost(workspace_state& s, const event_view&, const json&) {
  s.session.clear();
}

void session_reset(workspace_state& s, const event_view&, const json&) {
  s.session.clear();
  s.auth_failures = 0;
  s.paused_until.reset();
}

void item_started(workspace_state& s, const event_view& e, const json& data) {
  const auto& item = object_at(data, "item");
  if (auto id = string_or(item, "id"); !id.empty())
    s.open_items.insert_or_assign(std::move(id), open_item{std::string{e.turn}, item, {}, 0});
}

void item_delta(workspace_state& s, const event_view&, const json& data) {
  const auto found = s.open_items.find(item_of(data));
  if (found == s.open_items.end())
    return;
  auto& open = found->second;
  const auto piece = string_or(data, "text");
  if (open.text.size() == open.size) // nothing was cut off so far
    open.text += utf8_prefix(piece, max_event_text - open.text.size());
  open.size += piece.size();
}

void item_completed(workspace_state& s, const event_view&, const json& data) {
  s.open_items.erase(item_of(data));
}

std::string permission_of(const json& data) {
  return string_or(data, "permission", string_or(data, "id"));
}

void permission_requested(workspace_state& s, const event_view& e, const json& data) {
  pending_permission p;
  p.id = permission_of(data);
  if (p.id.empty())
    return;
  p.turn = e.turn;
  p.is_question = e.type == "question.requested";
  p.requested = e.time;
  if (const auto limit = int_or(data, "timeout_s", 0); limit > 0)
    p.expires = e.time.plus(std::chrono::seconds{limit});
  p.asked = data;
  s.open_permissions.try_emplace(p.id, std::move(p));
}

void permission_resolved(workspace_state& s, const event_view&, const json& data) {
  const auto found = s.open_permissions.find(permission_of(data));
  if (found == s.open_permissions.end())
    return;
  if (found->second.expires) {
    s.settled_permissions.push_back(
      {found->first, string_or(data, "decision"), string_or(data, "by")});
    if (s.settled_permissions.size() > max_settled_permissions)
      s.settled_permissions.pop_front();
  }
  s.open_permissions.erase(found);
}

void rule_changed(workspace_state& s, const event_view& e, const json& data) {
  auto id = string_or(data, "rule");
  std::erase_if(s.permission_rules, [&](const auto& rule) { return rule.id == id; });
  if (id.empty() || string_or(data, "change") != "added")
    return;
  permission_rule rule;
  rule.id = std::move(id);
  rule.tool = string_or(data, "tool");
  rule.fingerprint = string_or(data, "fingerprint");
  rule.command = string_or(data, "command");
  rule.by = string_or(data, "by");
  rule.since = e.time;
  s.permission_rules.push_back(std::move(rule));
}

void shell_opened(workspace_state& s, const event_view&, const json& data) {
  if (auto id = string_or(data, "shell"); !id.empty())
    s.open_shells.insert(std::move(id));
}

void shell_closed(workspace_state& s, const event_view&, const json& data) {
  s.open_shells.erase(string_or(data, "shell"));
}

void noticed(workspace_state& s, const event_view& e, const json& data) {
  if (string_or(data, "code") == "queue_paused")
    s.paused_until = e.time.plus(std::chrono::seconds{int_or(data, "pause_s", 0)});
}

void result_pending(workspace_state& s, const event_view& e, const json& data) {
  auto held = s.undelivered.extract(std::string{e.turn});
  if (held.empty())
    return;
  held.mapped().expires = e.time.plus(std::chrono::seconds{int_or(data, "ttl_s", 3600)});
  s.pending.insert(std::move(held));
}

void result_delivered(workspace_state& s, const event_view& e, const json&) {
  s.undelivered.erase(std::string{e.turn});
  s.pending.erase(std::string{e.turn});
}

/// The types that change a workspace. The others are not even parsed.
constexpr std::array<std::pair<std::string_view, applier>, 21> appliers{{
  {"item.delta", item_delta},
  {"item.started", item_started},
  {"item.completed", item_completed},
  {"workspace.created", created},
  {"workspace.configured", configured},
  {"turn.queued", queued},
  {"turn.started", started},
  {"turn.completed", completed},
  {"session.started", session_started},
  {"session.lost", session_lost},
  {"session.reset", session_reset},
  {"permission.requested", permission_requested},
  {"permission.resolved", permission_resolved},
  {"question.requested", permission_requested},
  {"question.resolved", permission_resolved},
  {rule_event, rule_changed},
  {"agent.notice", noticed},
  {"result.pending", result_pending},
  {"result.delivered", result_delivered},
  {"shell.opened", shell_opened},
  {"shell.closed", shell_closed},
}};

} // namespace

void evolve(workspace_state& state, const event_view& e) {
  state.id = e.workspace;
  state.stream = e.stream;
  state.incarnation = e.incarnation;
  state.head = e.at;
  state.last_time = std::max(state.last_time, e.time);
  const auto known =
    std::ranges::find(appliers, e.type, &std::pair<std::string_view, applier>::first);
  if (known == appliers.end())
    return;
  if (const auto data = parse_json(e.data); data && data->is_object())
    known->second(state, e, *data);
}

} // namespace tidemark
