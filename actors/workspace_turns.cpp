#include "actors/workspace_draft.hpp"

#include "agents/bounded_text.hpp"

#include <algorithm>
#include <ranges>

namespace tidemark {
namespace {

json usage_of(const token_usage& used) {
  json u = json::object();
  u["input"] = used.input;
  u["output"] = used.output;
  u["cache_read"] = used.cache_read;
  u["cache_write"] = used.cache_write;
  return u;
}

json error_of(const turn_error& why) {
  json e = json::object();
  e["code"] = why.code;
  e["message"] = why.message;
  e["retryable"] = why.retryable;
  e["details"] = why.details;
  return e;
}

json interrupted(const open_item& open) {
  auto item = open.item;
  item["status"] = "interrupted";
  if (open.size > 0)
    item["text"] = open.text;
  if (open.size > open.text.size()) {
    item["truncated"] = true;
    item["size"] = open.size;
  }
  return item;
}

/// Items and asks that the turn leaves open have nobody left who would close them.
void close_what_is_open(workspace_draft& d, const std::string& turn) {
  close_items(d, turn);
  const auto& state = d.state();
  const auto runs =
    (state.running && state.running->turn == turn) || (state.held && state.held->turn == turn);
  if (runs)
    withdraw_open_permissions(d);
}

json completion_of(workspace_draft& d, const turn_record& turn, const turn_result& result,
                   std::optional<exit_status> exit) {
  json data = json::object();
  data["turn"] = turn.turn;
  data["outcome"] = to_string(result.how);
  data["text"] = result.text;
  data["error"] = result.why ? error_of(*result.why) : json(nullptr);
  data["stop_reason"] = result.stop_reason;
  if (!result.ended_by.empty())
    data["by"] = result.ended_by;
  data["usage"] = usage_of(result.usage);
  data["model"] = result.model;
  data["cost_usd"] = result.cost_usd;
  data["denials"] = result.denials;
  const auto since = turn.started ? d.now().nanoseconds - turn.started->nanoseconds : 0;
  data["duration_ms"] = since / 1'000'000;
  if (exit) {
    data["exit"] = json::object();
    data["exit"]["code"] = exit->code;
    data["exit"]["signal"] = exit->signal;
  }
  const auto& held = d.state().held;
  const auto own = held && held->turn == turn.turn;
  // An interrupt that the agent obeyed in-band leaves its conversation whole: the next turn goes on in it.
  const auto whole = result.how == outcome::succeeded || (own && held->interrupting && !exit);
  if (own && whole && !held->reset && !held->heard.empty())
    data["session"] = held->heard;
  return data;
}

/// A usage limit may say when it ends. Somebody may lift it before: so it is tried now and then.
constexpr std::chrono::seconds longest_pause = std::chrono::hours{1};

std::chrono::seconds pause_after(const workspace_draft& d, const turn_error& why) {
  const auto usual = d.rules().auth_pause;
  const auto now = d.now().nanoseconds / 1'000'000'000;
  const auto resets_at = int_or(why.details, "resets_at", 0);
  const std::chrono::seconds left{resets_at > now ? resets_at - now : 0};
  return std::max(usual, std::min(left, longest_pause));
}

/// A login that has expired, or a limit that is used up, would burn the whole queue in seconds.
void pause_if_hopeless(workspace_draft& d, const turn_result& result) {
  const auto& state = d.state();
  if (!result.why || !fails_for_all(result.why->code) || state.queue.empty()
      || state.auth_failures < d.rules().auth_failures_before_pause)
    return;
  const auto pause = pause_after(d, *result.why);
  json data = json::object();
  data["code"] = "queue_paused";
  data["text"] = (result.why->code == rate_limited ? "the agent was over its limit "
                                                   : "the agent could not authenticate ")
                 + std::to_string(state.auth_failures)
                 + " times in a row; the queue waits: " + result.why->message;
  data["pause_s"] = pause.count();
  d.emit("agent.notice", {}, data);
  d.run(wake_at{d.now().plus(pause)});
}

} // namespace

std::string item_of(const json& data) {
  if (const auto id = string_or(object_at(data, "item"), "id"); !id.empty())
    return id;
  return string_or(data, "item", string_or(data, "item_id"));
}

void close_items(workspace_draft& d, std::optional<std::string_view> turn) {
  const auto open = d.state().open_items; // each event changes it
  for (const auto& each : std::views::values(open)) {
    if (turn && each.turn != *turn)
      continue;
    json data = json::object();
    data["item"] = interrupted(each);
    data["synthetic"] = true;
    d.emit("item.completed", each.turn, data);
  }
}

const turn_record* find_turn(const workspace_state& state, std::string_view turn) {
  if (state.running && state.running->turn == turn)
    return &*state.running;
  const auto queued = std::ranges::find(state.queue, turn, &turn_record::turn);
  return queued == state.queue.end() ? nullptr : &*queued;
}

const turn_record* workspace_state::current() const {
  if (running)
    return &*running;
  return held ? find_turn(*this, held->turn) : nullptr;
}

void complete_turn(workspace_draft& d, const std::string& turn, const turn_result& result,
                   const std::set<std::string>& clients, std::optional<exit_status> exit,
                   shared_text raw) {
  const auto* found = find_turn(d.state(), turn);
  if (!found)
    return;
  const auto record = *found; // the terminal event removes it from the state
  close_what_is_open(d, turn);
  const auto data = completion_of(d, record, result, exit);
  d.emit("turn.completed", turn, data, std::move(raw));
  d.record(record, to_string(result.how), data);
  if (d.state().undelivered.contains(turn) && !clients.contains(turn)) {
    json pending = json::object();
    pending["turn"] = turn;
    pending["ttl_s"] = d.rules().pending_ttl.count();
    d.emit("result.pending", turn, pending);
  }
  pause_if_hopeless(d, result);
}

void cancel_with(workspace_draft& d, const std::string& turn, const std::string& message,
                 const std::set<std::string>& clients, const std::string& by) {
  turn_result result;
  result.how = outcome::cancelled;
  result.ended_by = by;
  result.why = turn_error{std::string{task_cancelled}, message, false, json::object()};
  complete_turn(d, turn, result, clients);
}

void start_next(workspace_draft& d) {
  auto& state = d.state();
  if (d.rules().holds_turns || state.held || state.running || state.queue.empty())
    return;
  if (state.paused_until && d.now() < *state.paused_until)
    return;
  const auto& next = state.queue.front();
  session_begin begin;
  begin.turn = next.turn;
  begin.prompt = next.prompt;
  begin.resume = state.session;
  begin.rights = d.rules().rights;
  begin.asks_people = d.rules().ask != ask_people::never;
  begin.model = next.model;
  session_hold hold;
  hold.turn = next.turn;
  hold.resume = state.session;
  state.held = std::move(hold);
  d.run(start_turn{std::move(begin)});
}

void queue_again(workspace_draft& d) {
  const auto turn = *d.state().running;
  close_what_is_open(d, turn.turn);
  json data = json::object();
  data["turn"] = turn.turn;
  data["source"] = turn.source;
  data["prompt_preview"] = turn.preview;
  data["position"] = 0;
  data["attempt"] = turn.attempt;
  data["again"] = true;
  d.emit("turn.queued", turn.turn, data);
  d.record(d.state().queue.front(), "queued");
}

} // namespace tidemark
