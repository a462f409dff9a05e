#include "actors/workspace_shell.hpp"

namespace tidemark {

void workspace_metrics::recovered(const workspace_state& state) {
  for (const auto& turn : state.queue)
    queued_.emplace(turn.turn, turn.enqueued);
  if (state.running)
    queued_.emplace(state.running->turn, state.running->enqueued);
}

void workspace_metrics::committed(const std::vector<event_ptr>& events) {
  if (!into_)
    return;
  for (const auto& e : events)
    if (!e->type.starts_with("item."))
      count(*e);
}

void workspace_metrics::count(const event& e) {
  const auto data = [&] { return parse_json(e.data).value_or(json::object()); };
  if (e.type == "turn.queued") {
    if (queued_.emplace(e.turn, e.time).second)
      into_->turn_queued();
  } else if (e.type == "turn.started") {
    const auto since = queued_.find(e.turn);
    if (since == queued_.end() || int_or(data(), "attempt", 1) > 1)
      return;
    into_->turn_started(instruments::seconds{e.time.seconds_since(since->second)});
  } else if (e.type == "turn.completed") {
    const auto end = data();
    queued_.erase(e.turn);
    into_->turn_ended(string_or(end, "outcome"),
                      instruments::seconds{number_or(end, "duration_ms", 0) / 1000});
  } else if (e.type == "result.delivered") {
    into_->result_delivered(string_or(data(), "via"));
  } else if (e.type == "permission.resolved" || e.type == "question.resolved") {
    const auto how = data();
    // A client's name is nobody's label: it says nothing here, and there may be many.
    into_->permission(string_or(how, "decision") == "allow" ? "allow" : "deny",
                      string_or(how, "via") == "client" ? "client" : string_or(how, "by"));
  } else if (e.type == "fault") {
    into_->fault(string_or(data(), "component"));
  }
}

void workspace_metrics::standing(const workspace_state& state) {
  if (!into_)
    return;
  const auto move = [](std::int64_t& counted, std::size_t now) {
    const auto change = static_cast<std::int64_t>(now) - counted;
    counted += change;
    return change;
  };
  if (const auto change = move(waiting_, state.queue.size()))
    into_->turns_waiting(change);
  if (const auto change = move(running_, state.running ? 1 : 0))
    into_->turns_running(change);
  if (const auto change = move(pending_, state.pending.size()))
    into_->pending_results(change);
}

void workspace_metrics::withdraw() {
  standing(workspace_state{});
}

} // namespace tidemark
