#include "actors/directory.hpp"

#include "actors/workspace.hpp"
#include "base/logging.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <utility>

namespace tidemark {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using reply_promise = caf::typed_response_promise<reply_ptr>;

/// A workspace that ran this long is healthy again: its next fault is the first in a row.
constexpr auto healthy_after = 30s;

reply_ptr refused(errc code, std::string message) {
  return std::make_shared<const expected<answer>>(fail(code, std::move(message)));
}

/// One workspace that is active, or on its way there.
struct active_workspace {
  workspace_actor actor; ///< empty while it is down
  std::shared_ptr<session_slot> slot = std::make_shared<session_slot>();
  std::vector<std::pair<reply_promise, command_ptr>> held; ///< while it cannot take commands
  bool passivating = false;
  bool stopping_session = false; ///< of the actor that is down
  std::size_t faults = 0;        ///< in a row
  std::string fault;             ///< the last one; why it stays down if `gave_up`
  bool gave_up = false;
  steady::time_point started;
  steady::time_point used;
};

struct directory_state {
  static inline const char* name = "directory";

  directory_actor::pointer self = nullptr;
  std::optional<directory_deps> deps;
  std::array<workspace_loader_actor, 2> loaders;
  std::size_t next_loader = 0;
  std::map<std::string, workspace_summary> known; // all, active or not
  std::map<std::string, active_workspace> active;
  std::map<caf::actor_addr, std::string> names;
  std::optional<caf::typed_response_promise<bool>> on_stopped;

  void start(std::map<std::string, workspace_summary> summaries,
             const std::vector<std::string>& unfinished) {
    for (auto& loader : loaders)
      loader = spawn_workspace_loader(self->system(), deps->log, deps->workspace_root);
    known = std::move(summaries);
    for (const auto& each : unfinished)
      activate(each, active[each]);
    tick_later();
  }

  // -- commands --------------------------------------------------------------

  void route(const std::string& workspace, bool create, const command_ptr& what,
             reply_promise promise) {
    if (const auto found = active.find(workspace); found != active.end())
      return hand_over(found->second, what, std::move(promise));
    if (on_stopped)
      return reply(promise, refused(errc::unavailable, "the server is stopping"));
    if (!create && !known.contains(workspace))
      return reply(promise,
                   refused(errc::not_found, "there is no workspace \"" + workspace + "\""));
    if (const auto checked = workspace_id::parse(workspace); !checked)
      return reply(promise,
                   std::make_shared<const expected<answer>>(tl::unexpected(checked.error())));
    auto& entry = active[workspace];
    activate(workspace, entry);
    hand_over(entry, what, std::move(promise));
  }

  void hand_over(active_workspace& entry, const command_ptr& what, reply_promise promise) {
    entry.used = steady::now();
    if (entry.gave_up)
      return reply(promise,
                   refused(errc::unavailable, "the workspace failed too often: " + entry.fault));
    if (entry.actor && !entry.passivating) {
      promise.delegate(entry.actor, command_atom::value, what);
      return;
    }
    if (on_stopped)
      return reply(promise, refused(errc::unavailable, "the server is stopping"));
    entry.held.emplace_back(std::move(promise), what);
  }

  static void reply(reply_promise& promise, reply_ptr what) { promise.deliver(std::move(what)); }

  void forward_held(active_workspace& entry) {
    for (auto& [promise, what] : std::exchange(entry.held, {}))
      promise.delegate(entry.actor, command_atom::value, what);
  }

  void refuse_held(active_workspace& entry, const std::string& why) {
    for (auto& [promise, what] : std::exchange(entry.held, {}))
      promise.deliver(refused(errc::unavailable, why));
  }

  summaries_ptr list() const {
    auto out = std::make_shared<std::vector<workspace_summary>>();
    std::ranges::copy(std::views::values(known), std::back_inserter(*out));
    return out;
  }

  // -- activation ------------------------------------------------------------

  void activate(const std::string& workspace, active_workspace& entry) {
    workspace_deps own;
    own.writer = deps->writer;
    own.loader = loaders[next_loader++ % loaders.size()];
    own.directory = directory_actor{self};
    own.metrics = &deps->metrics;
    own.rules = deps->rules;
    own.make_session = deps->make_session;
    own.slot = entry.slot;
    own.fault = std::exchange(entry.fault, {});
    entry.passivating = false;
    entry.started = entry.used = steady::now();
    entry.actor = spawn_workspace(*self, std::move(own), workspace);
    names.emplace(entry.actor.address(), workspace);
    deps->metrics.workspaces_active(1);
    forward_held(entry);
  }

  void on_down(const caf::down_msg& down) {
    const auto found = names.find(down.source);
    if (found == names.end())
      return;
    const auto workspace = found->second;
    names.erase(found);
    auto& entry = active.at(workspace);
    entry.actor = workspace_actor{};
    deps->metrics.workspaces_active(-1);
    note_fault(workspace, entry, down.reason);
    if (!entry.slot->session)
      return after_down(workspace);
    // Two agents of one workspace would fight over its files: the old one has to be gone first.
    entry.stopping_session = true;
    const auto gone = [this, workspace] {
      auto& stopped = active.at(workspace);
      stopped.stopping_session = false;
      stopped.slot->session = agent_session_actor{};
      after_down(workspace);
    };
    self->request(entry.slot->session, caf::infinite, stop_atom::value)
      .then([gone](bool) { gone(); }, [gone](const caf::error&) { gone(); });
  }

  void note_fault(const std::string& workspace, active_workspace& entry, const caf::error& reason) {
    const auto in_order =
      !reason || reason == caf::exit_reason::normal || reason == caf::exit_reason::user_shutdown;
    if (in_order) {
      entry.faults = 0;
      entry.fault.clear();
      return;
    }
    if (steady::now() - entry.started > healthy_after)
      entry.faults = 0;
    ++entry.faults;
    entry.fault = self->system().render(reason);
    logging::error("directory", "workspace {} failed ({} in a row): {}", workspace, entry.faults,
                   entry.fault);
  }

  void after_down(const std::string& workspace) {
    auto& entry = active.at(workspace);
    if (on_stopped) {
      refuse_held(entry, "the server is stopping");
      active.erase(workspace);
      stopped_if_all_are();
    } else if (entry.faults == 0) {
      if (entry.held.empty())
        active.erase(workspace);
      else
        activate(workspace, entry); // it was wanted again while it went
    } else if (entry.faults > deps->max_restarts) {
      entry.gave_up = true;
      refuse_held(entry, "the workspace failed too often: " + entry.fault);
    } else {
      const auto shift = std::min<std::size_t>(entry.faults - 1, 10);
      self->delayed_send(self, deps->restart_backoff * (1u << shift), restart_atom::value,
                         workspace);
    }
  }

  void restart(const std::string& workspace) {
    const auto found = active.find(workspace);
    if (found == active.end() || found->second.actor || found->second.gave_up || on_stopped)
      return;
    activate(workspace, found->second);
  }

  // -- passivation -----------------------------------------------------------

  void tick_later() {
    const auto every = std::clamp<std::chrono::milliseconds>(deps->idle_after / 4, 5ms, 1000ms);
    self->delayed_send(self, every, tick_atom::value);
  }

  void tick() {
    if (on_stopped)
      return;
    const auto now = steady::now();
    for (auto i = active.begin(); i != active.end();) {
      auto& [workspace, entry] = *i++;
      if (now - entry.used < deps->idle_after || entry.passivating)
        continue;
      if (entry.gave_up)
        active.erase(workspace); // its next command tries again
      else if (entry.actor)
        passivate(workspace, entry);
    }
    tick_later();
  }

  void passivate(const std::string& workspace, active_workspace& entry) {
    entry.passivating = true;
    const auto stays = [this, workspace, who = entry.actor.address()] {
      const auto found = active.find(workspace);
      if (found == active.end() || !found->second.actor || found->second.actor.address() != who)
        return; // it is down: after_down has the word
      found->second.passivating = false;
      found->second.used = steady::now();
      forward_held(found->second);
    };
    self->request(entry.actor, caf::infinite, idle_atom::value)
      .then(
        [stays](bool goes) {
          if (!goes)
            stays();
        },
        [](const caf::error&) {});
  }

  // -- end -------------------------------------------------------------------

  void stop(caf::typed_response_promise<bool> promise) {
    if (on_stopped)
      return promise.deliver(false), void();
    on_stopped = std::move(promise);
    for (auto i = active.begin(); i != active.end();) {
      auto& [workspace, entry] = *i++;
      refuse_held(entry, "the server is stopping");
      if (entry.actor)
        self->request(entry.actor, caf::infinite, stop_atom::value)
          .then([](bool) {}, [](const caf::error&) {});
      else if (!entry.stopping_session)
        active.erase(workspace);
    }
    stopped_if_all_are();
  }

  void stopped_if_all_are() {
    if (!active.empty())
      return;
    std::exchange(on_stopped, std::nullopt)->deliver(true);
    leave();
    self->quit(caf::exit_reason::user_shutdown);
  }

  void leave() {
    for (auto& loader : loaders) {
      caf::anon_send_exit(loader, caf::exit_reason::user_shutdown);
      loader = workspace_loader_actor{};
    }
  }

  /// Ended without the ordered stop: workspaces go too, and their sessions with them.
  void abandon() {
    for (auto& entry : std::views::values(active)) {
      refuse_held(entry, "the server is stopping");
      if (entry.actor)
        caf::anon_send_exit(entry.actor, caf::exit_reason::user_shutdown);
    }
    if (on_stopped)
      std::exchange(on_stopped, std::nullopt)->deliver(false);
    leave();
  }
};

directory_actor::behavior_type directory(directory_actor::stateful_pointer<directory_state> self,
                                         directory_deps deps,
                                         std::map<std::string, workspace_summary> summaries,
                                         const std::vector<std::string>& unfinished) {
  auto& state = self->state;
  state.self = self;
  state.deps.emplace(std::move(deps));
  self->set_down_handler([self](caf::down_msg& down) { self->state.on_down(down); });
  self->set_exit_handler([self](caf::exit_msg& why) {
    self->state.abandon();
    self->quit(std::move(why.reason));
  });
  state.start(std::move(summaries), unfinished);
  return {
    [self](route_atom, const std::string& workspace, bool create,
           const command_ptr& what) -> caf::result<reply_ptr> {
      auto promise = self->make_response_promise<reply_ptr>();
      self->state.route(workspace, create, what, promise);
      return promise;
    },
    [self](list_atom) { return self->state.list(); },
    [self](summary_atom, const summary_ptr& summary) { self->state.known[summary->id] = *summary; },
    [self](tick_atom) { self->state.tick(); },
    [self](restart_atom, const std::string& workspace) { self->state.restart(workspace); },
    [self](stop_atom) -> caf::result<bool> {
      auto promise = self->make_response_promise<bool>();
      self->state.stop(promise);
      return promise;
    }};
}

std::map<std::string, workspace_summary> stored_summaries(const event_log& log) {
  std::map<std::string, workspace_summary> out;
  const auto scanned = log.scan(table::meta, record_key::summaries, false,
                                [&](std::string_view, std::string_view record) {
                                  if (auto summary = summary_of(record))
                                    out.insert_or_assign(summary->id, std::move(*summary));
                                  return true;
                                });
  if (!scanned)
    logging::error("directory", "the stored workspace summaries cannot be read: {}",
                   scanned.error().describe());
  for (const auto& stream : log.streams()) {
    if (stream.ended)
      out.erase(stream.name);
    else if (!out.contains(stream.name))
      out[stream.name].id = stream.name;
  }
  return out;
}

std::vector<std::string> unfinished_workspaces(const event_log& log) {
  std::vector<std::string> out;
  const auto scanned =
    log.scan(table::meta, record_key::actives, false, [&](std::string_view key, std::string_view) {
      out.emplace_back(key.substr(record_key::actives.size()));
      return true;
    });
  if (!scanned)
    logging::error("directory", "unfinished workspaces cannot be listed: {}",
                   scanned.error().describe());
  return out;
}

} // namespace

directory_actor spawn_directory(caf::actor_system& system, directory_deps deps) {
  // Read here, on the caller's thread, because it blocks.
  auto summaries = stored_summaries(deps.log);
  auto unfinished = unfinished_workspaces(deps.log);
  return system.spawn(directory, std::move(deps), std::move(summaries), std::move(unfinished));
}

} // namespace tidemark
