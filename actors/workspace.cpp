#include "actors/workspace_shell.hpp"

#include "base/logging.hpp"
#include "base/uuid.hpp"

#include <caf/sec.hpp>

#include <algorithm>

namespace tidemark {
namespace {

using namespace std::chrono_literals;

/// How long a stopping workspace waits for its clients to say that they have their results.
constexpr auto client_grace = 1s;

std::string text_of(const std::exception_ptr& what) {
  try {
    std::rethrow_exception(what);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown exception";
  }
}

workspace_actor::behavior_type workspace(workspace_actor::stateful_pointer<workspace_shell> self,
                                         workspace_deps deps, const std::string& name) {
  auto& shell = self->state;
  shell.self = self;
  shell.id = name;
  shell.figures = workspace_metrics{deps.metrics};
  shell.deps = std::move(deps);
  self->set_down_handler([self](caf::down_msg& down) { self->state.on_session_down(down); });
  self->set_exit_handler([self](caf::exit_msg& why) {
    self->state.abandon({errc::unavailable, "the workspace was stopped", true});
    self->quit(std::move(why.reason));
  });
  self->set_exception_handler([self](std::exception_ptr& what) -> caf::error {
    const auto text = text_of(what);
    logging::error("workspace", "{} failed and ends: {}", self->state.id, text);
    self->state.abandon({errc::internal, "the workspace failed and is started again", true});
    return caf::make_error(caf::sec::runtime_error, text);
  });
  shell.start();
  return {[self](command_atom, const command_ptr& what) -> caf::result<reply_ptr> {
            auto promise = self->make_response_promise<reply_ptr>();
            try {
              self->state.on_command(what, promise);
            } catch (...) {
              if (promise.pending())
                promise.deliver(
                  reply_of(fail(errc::internal, "the workspace failed and is started again")));
              throw;
            }
            return promise;
          },
          [self](report_atom, const session_report_ptr& what) -> caf::result<bool> {
            auto credit = self->make_response_promise<bool>();
            self->state.on_report(what, credit);
            return credit;
          },
          [self](tick_atom, std::uint64_t number) { self->state.on_tick(number); },
          [self](idle_atom) -> caf::result<bool> {
            auto promise = self->make_response_promise<bool>();
            self->state.on_idle(promise);
            return promise;
          },
          [self](stop_atom) -> caf::result<bool> {
            auto promise = self->make_response_promise<bool>();
            self->state.on_stop(promise);
            return promise;
          }};
}

} // namespace

workspace_actor spawn_workspace(caf::local_actor& monitored_by, workspace_deps deps,
                                const std::string& name) {
  return monitored_by.spawn<caf::monitored>(workspace, std::move(deps), name);
}

void workspace_shell::start() {
  recover();
}

void workspace_shell::on_command(const command_ptr& what, reply_promise promise) {
  if (now_in == phase::recovering) {
    waiting.emplace_back(what, std::move(promise));
    // Whoever asks now finds out now whether the log is well again, not when it is tried next.
    if (refusal)
      load();
    return;
  }
  const auto* submitted = std::get_if<submit_turn>(what.get());
  const auto* opened = std::get_if<open_shell>(what.get());
  if (now_in == phase::closing && (submitted || opened)) {
    promise.deliver(reply_of(fail(errc::unavailable, "the server is stopping")));
    return;
  }
  if (opened)
    deps.slot->shells.insert(opened->shell);
  const auto at = now();
  auto turn = submitted ? submitted->turn : std::string{};
  if (submitted && turn.empty())
    turn = new_uuid(at);
  auto out = decide(working, deps.rules, *what, turn, clients, at);
  if (submitted && !submitted->environment.empty() && is_queued(turn))
    environments[turn] = submitted->environment;
  take(std::move(out), std::move(promise));
  close_if_done();
}

bool workspace_shell::is_queued(const std::string& turn) const {
  return std::ranges::any_of(working.queue,
                             [&](const auto& queued) { return queued.turn == turn; });
}

void workspace_shell::on_report(const session_report_ptr& what, bool_promise credit) {
  if (now_in == phase::recovering) {
    credit.deliver(false); // of a session that is being stopped
    return;
  }
  take(decide(working, deps.rules, *what, clients, now()), {}, std::move(credit));
}

void workspace_shell::on_tick(std::uint64_t number) {
  if (!next_tick.rings(number))
    return;
  if (now_in == phase::ready)
    take(tidemark::on_tick(working, deps.rules, clients, now()));
  else if (now_in == phase::recovering)
    load();
  else
    close_if_done();
}

timestamp workspace_shell::now() {
  const auto read = clock.read(now_utc(), std::chrono::steady_clock::now());
  if (read.put_forward.count() > 0) {
    logging::warning("workspace", "{}: the clock was put forward by {} s", id,
                     std::chrono::duration_cast<std::chrono::seconds>(read.put_forward).count());
    put_forward(working, read.put_forward);
    for (auto* moment : {&next_tick.due, &closes_by})
      if (*moment)
        *moment = (*moment)->plus(read.put_forward);
  }
  return read.now;
}

bool workspace_shell::at_rest() const {
  return now_in == phase::ready && in_flight.empty() && unanswered == 0 && !working.busy()
         && !working.held && working.undelivered.empty() && clients.empty()
         && working.open_shells.empty();
}

void workspace_shell::on_idle(bool_promise promise) {
  if (!at_rest()) {
    promise.deliver(false);
    return;
  }
  now_in = phase::closing;
  on_closed = std::move(promise);
  close_if_done();
}

void workspace_shell::on_stop(bool_promise promise) {
  if (on_closed) {
    promise.deliver(true); // it closes already
    return;
  }
  on_closed = std::move(promise);
  if (now_in == phase::recovering) {
    abandon({errc::unavailable, "the server is stopping", true});
    self->quit(caf::exit_reason::user_shutdown);
    return;
  }
  now_in = phase::closing;
  closes_by = now().plus(client_grace);
  take(on_shutdown(working, deps.rules, clients, now()));
  close_if_done();
}

void workspace_shell::on_session_down(const caf::down_msg& down) {
  if (!has_session() || deps.slot->session.address() != down.source)
    return;
  deps.slot->session = agent_session_actor{};
  if (stopping_session || now_in != phase::ready || (!working.held && working.open_items.empty()))
    return;
  // Its session failed without a word: the turn must not run for ever.
  take(on_fault(working, deps.rules, "agent_session", "the agent's session failed", now()));
  if (!working.held)
    return;
  session_report report;
  report.turn = working.held->turn;
  report.end.emplace();
  report.end->why =
    turn_error{"RUNTIME_UNAVAILABLE", "the agent's session failed", true, json::object()};
  take(decide(working, deps.rules, report, clients, now()));
}

void workspace_shell::abandon(const error& why) {
  give_up(why);
  for (auto& [what, promise] : std::exchange(waiting, {}))
    promise.deliver(reply_of(tl::unexpected(why)));
  if (on_closed)
    std::exchange(on_closed, std::nullopt)->deliver(now_in == phase::recovering);
  figures.withdraw();
  deps.directory = directory_actor{};
}

} // namespace tidemark
