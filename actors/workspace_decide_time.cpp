#include "actors/workspace_draft.hpp"
#include "actors/workspace_permissions.hpp"

#include <algorithm>

namespace tidemark {
namespace {

void expire_results(workspace_draft& d) {
  std::vector<std::string> expired;
  for (const auto& [id, result] : d.state().pending)
    if (result.expires <= d.now())
      expired.push_back(id);
  for (const auto& id : expired) {
    json data = json::object();
    data["turn"] = id;
    data["via"] = "expired";
    d.emit("result.delivered", id, data);
  }
}

turn_result ended(outcome how, std::string code, std::string message, bool retryable) {
  turn_result result;
  result.how = how;
  result.why = turn_error{std::move(code), std::move(message), retryable, json::object()};
  return result;
}

/// A turn whose process is gone, or about to go, with the server.
void end_or_queue_again(workspace_draft& d, const turn_result& result,
                        const std::set<std::string>& clients) {
  const auto turn = *d.state().running;
  if (turn.on_restart == restart_rule::retry && turn.attempt < max_attempts)
    queue_again(d);
  else
    complete_turn(d, turn.turn, result, clients);
}

void fail_turns_without_environment(workspace_draft& d, const survivors& kept) {
  std::vector<std::string> lost;
  for (const auto& turn : d.state().queue)
    if (turn.needs_environment && !kept.environments.contains(turn.turn))
      lost.push_back(turn.turn);
  for (const auto& turn : lost)
    complete_turn(d, turn,
                  ended(outcome::failed, "ENV_LOST",
                        "the server restarted and this task's environment values, which it never "
                        "stores, are gone; send the task again",
                        true),
                  kept.clients);
}

/// Their processes are gone with the server that ran them.
void close_shells(workspace_draft& d, const survivors& kept) {
  const auto open = d.state().open_shells;
  for (const auto& shell : open) {
    if (kept.shells.contains(shell))
      continue;
    json data = json::object();
    data["shell"] = shell;
    data["reason"] = "recovery";
    data["exit"] = nullptr;
    data["synthetic"] = true;
    d.emit("shell.closed", {}, data);
  }
}

/// Their clients are told that the server stops: run after the restart, they would run twice, for
/// clients send again what failed.
void end_queue_of_clients(workspace_draft& d, const std::set<std::string>& clients) {
  std::vector<std::string> ending;
  for (const auto& turn : d.state().queue)
    if (turn.holds_result && clients.contains(turn.turn))
      ending.push_back(turn.turn);
  for (const auto& turn : ending)
    complete_turn(d, turn,
                  ended(outcome::cancelled, "SERVER_STOPPING",
                        "the server was stopped before this task started; send the task again",
                        true),
                  clients);
}

} // namespace

decided create(workspace_state& working, const workspace_rules& rules, timestamp now) {
  workspace_draft d{working, rules, now};
  json data = json::object();
  data["id"] = working.id;
  data["agent"] = rules.agent;
  data["policy"] = to_string(rules.rights);
  data["metadata"] = json::object();
  d.emit("workspace.created", {}, data);
  return d.finish();
}

decided on_tick(workspace_state& working, const workspace_rules& rules,
                const std::set<std::string>& clients, timestamp now) {
  workspace_draft d{working, rules, now};
  const auto& running = working.running;
  if (running && running->timeout && running->started
      && running->started->plus(*running->timeout) <= d.now()) {
    const auto turn = *running;
    complete_turn(
      d, turn.turn,
      ended(outcome::failed, "TIMEOUT",
            "the task ran longer than its limit of " + std::to_string(turn.timeout->count()) + " s",
            true),
      clients);
    d.run(stop_turn{stop_force::kill});
  }
  expire_permissions(d);
  expire_results(d);
  start_next(d);
  d.schedule();
  return d.finish();
}

void put_forward(workspace_state& working, std::chrono::nanoseconds by) {
  const auto move = [by](std::optional<timestamp>& moment) {
    if (moment)
      moment = moment->plus(by);
  };
  move(working.paused_until);
  if (working.running)
    move(working.running->started);
  for (auto* results : {&working.pending, &working.undelivered})
    for (auto& [id, result] : *results)
      result.expires = result.expires.plus(by);
  for (auto& [id, request] : working.open_permissions)
    move(request.expires);
}

decided on_recovered(workspace_state& working, const workspace_rules& rules, timestamp now,
                     const survivors& kept) {
  working.held.reset();
  workspace_draft d{working, rules, now};
  withdraw_open_permissions(d, "restart", "the server was restarted before it was decided");
  if (working.running)
    end_or_queue_again(d,
                       ended(outcome::interrupted, "INTERRUPTED",
                             "the server stopped while this task ran; it may have had effects",
                             true),
                       kept.clients);
  close_items(d); // of background work, whose process is gone as well
  close_shells(d, kept);
  fail_turns_without_environment(d, kept);
  const auto undelivered = working.undelivered;
  for (const auto& [turn, result] : undelivered) {
    if (kept.clients.contains(turn))
      continue;
    json data = json::object();
    data["turn"] = turn;
    data["ttl_s"] = rules.pending_ttl.count();
    d.emit("result.pending", turn, data);
  }
  expire_results(d);
  start_next(d);
  d.schedule();
  return d.finish();
}

decided on_fault(workspace_state& working, const workspace_rules& rules,
                 const std::string& component, const std::string& message, timestamp now) {
  workspace_draft d{working, rules, now};
  close_items(d); // whichever part it was, the agent's process is gone with it
  json data = json::object();
  data["component"] = component;
  data["message"] = message;
  d.emit("fault", {}, data);
  return d.finish();
}

decided on_shutdown(workspace_state& working, const workspace_rules& rules,
                    const std::set<std::string>& clients, timestamp now) {
  workspace_draft d{working, rules, now};
  end_queue_of_clients(d, clients);
  if (working.running)
    end_or_queue_again(d,
                       ended(outcome::interrupted, "SERVER_STOPPING",
                             "the server was stopped while this task ran; it may have had effects",
                             true),
                       clients);
  working.held.reset();
  return d.finish();
}

} // namespace tidemark
