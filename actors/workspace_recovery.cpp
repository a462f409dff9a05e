#include "actors/workspace_shell.hpp"

#include "base/logging.hpp"

#include <algorithm>
#include <ranges>

namespace tidemark {
namespace {

using namespace std::chrono_literals;

std::chrono::milliseconds backoff(std::size_t failures) {
  return 50ms * (1u << std::min<std::size_t>(failures, 7));
}

} // namespace

/// Called whenever something that recovery waits for has happened.
void workspace_shell::recover() {
  // An append that is still under way could reach the log after we have read it.
  if (!can_load())
    return;
  if (refusal && waiting.empty()) {
    // The log has just failed: it is tried again when somebody asks, or a while later.
    retry_later();
    return;
  }
  load();
}

void workspace_shell::retry_later() {
  next_tick.due.reset();
  wake(now().plus(backoff(failures)));
}

void workspace_shell::load() {
  if (!can_load())
    return;
  loading = true;
  self->request(deps.loader, caf::infinite, recover_atom::value, id)
    .then(
      [this](const loaded_ptr& loaded) {
        loading = false;
        recovered(*loaded);
      },
      [this](const caf::error&) {
        loading = false;
        recovery_failed({errc::unavailable, "the log cannot be read", true});
      });
}

void workspace_shell::recovery_failed(const error& why) {
  logging::error("workspace", "{} cannot be recovered: {}", id, why.describe());
  ++failures;
  refusal = why;
  for (auto& [what, promise] : std::exchange(waiting, {}))
    promise.deliver(reply_of(tl::unexpected(why)));
  retry_later();
}

void workspace_shell::recovered(const expected<loaded_workspace>& loaded) {
  if (!loaded)
    return recovery_failed(loaded.error());
  refusal.reset();
  stream = loaded->stream;
  working = loaded->state;
  deps.rules.path = loaded->path;
  now_in = phase::ready;
  figures.recovered(working);
  clock = stream_clock{now_utc(), std::chrono::steady_clock::now(), working.last_time};
  next_tick.due.reset();
  const auto at = now();
  if (working.head == offset{})
    take(create(working, deps.rules, at));
  if (!deps.fault.empty())
    take(on_fault(working, deps.rules, "workspace", std::exchange(deps.fault, {}), at));
  survivors kept;
  kept.clients = clients;
  kept.shells = deps.slot->shells;
  for (const auto& turn : std::views::keys(environments))
    kept.environments.insert(turn);
  take(on_recovered(working, deps.rules, at, kept));
  figures.standing(working);
  publish();
  serve_waiting();
}

void workspace_shell::serve_waiting() {
  for (auto& [what, promise] : std::exchange(waiting, {}))
    on_command(what, std::move(promise));
}

void workspace_shell::close_if_done() {
  if (now_in != phase::closing || !on_closed)
    return;
  stop_session();
  if (stopping_session || unanswered > 0 || !in_flight.empty())
    return;
  const auto awaited = std::ranges::any_of(
    clients, [&](const auto& turn) { return working.undelivered.contains(turn); });
  if (awaited && closes_by && now() < *closes_by) {
    wake(*closes_by);
    return;
  }
  if (!snapshot_saved && working.head > working.snapshot_at) {
    working.snapshot_at = working.head;
    append({}, {{table::meta, record_key::snapshot(stream.id), snapshot(working)}}, false, true);
    return;
  }
  std::exchange(on_closed, std::nullopt)->deliver(durable_at_close);
  figures.withdraw();
  self->quit(caf::exit_reason::user_shutdown);
}

} // namespace tidemark
