#include "actors/workspace_shell.hpp"

#include <algorithm>

namespace tidemark {

void workspace_shell::run(const effect& what) {
  if (const auto* start = std::get_if<start_turn>(&what)) {
    begin(start->begin);
  } else if (const auto* stop = std::get_if<stop_turn>(&what)) {
    if (has_session())
      self->send(deps.slot->session, halt_atom::value, stop->how);
  } else if (const auto* permission = std::get_if<answer_permission>(&what)) {
    if (has_session())
      self->send(deps.slot->session, answer_atom::value,
                 session_answer_ptr{std::make_shared<const session_answer>(permission->what)});
  } else if (const auto* timer = std::get_if<wake_at>(&what)) {
    wake(timer->when);
  } else {
    publish();
  }
}

void workspace_shell::begin(session_begin what) {
  if (now_in == phase::closing)
    return;
  if (!has_session()) {
    deps.slot->session = deps.make_session(id, workspace_actor{self});
    self->monitor(deps.slot->session);
  }
  if (const auto own = environments.find(what.turn); own != environments.end())
    what.environment = own->second;
  self->send(deps.slot->session, begin_atom::value,
             session_begin_ptr{std::make_shared<const session_begin>(std::move(what))});
}

void workspace_shell::wake(timestamp when) {
  const auto at = now();
  const auto number = next_tick.set(when);
  if (!number)
    return; // it looks again before
  const auto after = std::max<std::int64_t>(0, when.nanoseconds - at.nanoseconds);
  // A little late rather than early, when nothing is due yet.
  self->delayed_send(self, std::chrono::nanoseconds{after} + std::chrono::milliseconds{1},
                     tick_atom::value, *number);
}

void workspace_shell::publish() {
  if (deps.directory)
    self->send(deps.directory, summary_atom::value,
               summary_ptr{std::make_shared<const workspace_summary>(summarize(working))});
}

void workspace_shell::stop_session() {
  if (!has_session() || stopping_session)
    return;
  stopping_session = true;
  const auto gone = [this] {
    stopping_session = false;
    deps.slot->session = agent_session_actor{};
    if (now_in == phase::recovering)
      recover();
    close_if_done();
  };
  self->request(deps.slot->session, caf::infinite, stop_atom::value)
    .then([gone](bool) { gone(); }, [gone](const caf::error&) { gone(); });
}

} // namespace tidemark
