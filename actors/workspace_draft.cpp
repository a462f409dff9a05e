#include "actors/workspace_draft.hpp"

#include "replay/audit_terms.hpp"

#include <algorithm>
#include <utility>

namespace tidemark {
namespace {

/// A snapshot at rest costs one write and saves this many events of the next recovery.
constexpr std::uint64_t snapshot_at_rest_after = 32;

/// What a snapshot may cost each event since the last one, about what the event itself takes: one
/// that holds a long text or prompt is written less often, or it would be most of what is written.
constexpr std::uint64_t snapshot_bytes_per_event = 512;

bool is_output(std::string_view type) {
  return type.starts_with("item.") || type.starts_with("agent.");
}

json optional_time(const std::optional<timestamp>& t) {
  return t ? json(iso8601(*t)) : json(nullptr);
}

} // namespace

workspace_draft::workspace_draft(workspace_state& working, const workspace_rules& rules,
                                 timestamp now)
  : state_(working),
    rules_(rules),
    now_(std::max(now, working.last_time)) {}

void workspace_draft::emit(std::string_view type, std::string_view turn, const json& data,
                           shared_text raw) {
  new_event e{std::string{type}, std::string{turn}, now_,
              dump_json(data),   std::move(raw),    audit_terms(state_.id, type, turn, data)};
  if (e.raw && e.data.size() + e.raw->size() > event_log::max_event_bytes)
    e.raw = nullptr;
  if (e.data.size() > event_log::max_event_bytes) {
    json shortened = json::object();
    shortened["truncated"] = true;
    shortened["bytes"] = e.data.size();
    e.data = dump_json(shortened);
  }
  const auto name = state_.id; // evolve assigns it: a view of the member itself would not do
  event_view view;
  view.workspace = name;
  view.stream = state_.stream;
  view.incarnation = state_.incarnation;
  view.at = state_.head.next();
  view.time = e.time;
  view.type = e.type;
  view.turn = e.turn;
  view.data = e.data;
  evolve(state_, view);
  standing_changed_ = standing_changed_ || !is_output(type);
  out_.events.push_back(std::move(e));
}

void workspace_draft::record(const turn_record& turn, std::string_view status, const json& end) {
  json r = json::object();
  r["turn"] = turn.turn;
  r["status"] = status;
  r["queued_at"] = turn.queued_at.value;
  r["enqueued"] = iso8601(turn.enqueued);
  r["started"] = optional_time(turn.started);
  r["ended"] = end.is_object() ? json(iso8601(now_)) : json(nullptr);
  r["source"] = turn.source;
  r["prompt_preview"] = turn.preview;
  r["model"] = turn.model;
  r["idempotency_key"] = turn.idempotency_key;
  r["metadata"] = turn.metadata;
  r["attempt"] = turn.attempt;
  for (const auto* field :
       {"text", "error", "usage", "cost_usd", "stop_reason", "duration_ms", "exit", "denials"})
    r[field] = end.is_object() && end.contains(field) ? end[field] : json(nullptr);
  turns_[record_key::turn(state_.stream, turn.turn)] = dump_json(r);
}

decided workspace_draft::finish() {
  if (!out_.events.empty()) {
    for (auto& [key, value] : turns_)
      out_.derived.push_back({table::turns, key, std::move(value)});
    if (standing_changed_) {
      const auto unfinished =
        state_.busy() || !state_.undelivered.empty() || !state_.open_shells.empty();
      out_.derived.push_back({table::meta, record_key::active(state_.id),
                              unfinished ? std::optional<std::string>{"1"} : std::nullopt});
      out_.derived.push_back(
        {table::meta, record_key::summary(state_.id), to_record(summarize(state_))});
      out_.effects.emplace_back(publish_summary{});
    }
    write_snapshot_if_due();
  }
  if (standing_changed_)
    schedule();
  return std::move(out_);
}

void workspace_draft::write_snapshot_if_due() {
  const auto since = state_.head.value - state_.snapshot_at.value;
  const auto at_rest = standing_changed_ && !state_.busy() && since >= snapshot_at_rest_after;
  const auto spacing = std::max<std::uint64_t>(rules_.snapshot_every,
                                               state_.snapshot_bytes / snapshot_bytes_per_event);
  if (since < spacing && !at_rest && !must_save_)
    return;
  auto record = snapshot(state_);
  state_.snapshot_at = state_.head;
  state_.snapshot_bytes = record.size();
  out_.derived.push_back({table::meta, record_key::snapshot(state_.stream), std::move(record)});
}

void workspace_draft::schedule() {
  std::optional<timestamp> next;
  const auto consider = [&](timestamp t) {
    if (!next || t < *next)
      next = t;
  };
  if (state_.running && state_.running->timeout && state_.running->started)
    consider(state_.running->started->plus(*state_.running->timeout));
  if (state_.paused_until && !state_.queue.empty() && *state_.paused_until > now_)
    consider(*state_.paused_until);
  for (const auto& [id, result] : state_.pending)
    consider(result.expires);
  for (const auto& [id, request] : state_.open_permissions)
    if (request.expires)
      consider(*request.expires);
  if (next)
    run(wake_at{*next});
}

} // namespace tidemark
