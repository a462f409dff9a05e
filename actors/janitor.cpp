#include "actors/janitor.hpp"

#include "actors/turn_files.hpp"
#include "actors/workspace_core.hpp"
#include "base/logging.hpp"
#include "base/thread_priority.hpp"
#include "base/units.hpp"
#include "replay/audit_terms.hpp"
#include "replay/retention.hpp"
#include "replay/total_retention.hpp"

#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tidemark {
namespace {

constexpr std::size_t bytes_a_step = 4 << 20;

/// The workspace at hand.
struct chore {
  std::string workspace;
  retention_rules rules;
  std::optional<removal_plan> wanted; ///< by the limit for all: to be told
  std::optional<removal_note> told;   ///< being carried out
  offset forgotten;                   ///< what was recorded of turns up to here has gone
  offset next;                        ///< where to go on emptying deltas
};

struct janitor_state {
  static inline const char* name = "janitor";

  janitor_actor::pointer self = nullptr;
  std::optional<janitor_deps> deps;
  std::map<stream_id, stream_outline> outlines;
  std::deque<chore> todo;     // the first one is at hand
  bool total_seen_to = false; // in this sweep
  bool is_over = false;       // the limit for all could not be kept last time
  bool stands_back = false;

  // -- sweeps ----------------------------------------------------------------

  void sweep() {
    if (!std::exchange(stands_back, true))
      lower_priority_of_this_thread();
    total_seen_to = deps->total_bytes == 0;
    self->request(deps->directory, caf::infinite, list_atom::value)
      .then(
        [this](const summaries_ptr& all) {
          for (const auto& each : *all)
            if (auto rules = rules_with(deps->rules, each.retain);
                !rules.keep_all() || deps->total_bytes > 0)
              add_chore(each.id, rules);
          forget_strangers();
          step();
        },
        [this](const caf::error&) { step(); });
  }

  chore& add_chore(const std::string& workspace, const retention_rules& rules) {
    auto& added = todo.emplace_back();
    added.workspace = workspace;
    added.rules = rules;
    return added;
  }

  /// What has no rule any more needs no outline.
  void forget_strangers() {
    std::map<stream_id, stream_outline> kept;
    for (const auto& each : todo)
      if (const auto stream = deps->log.find(each.workspace))
        if (auto known = outlines.extract(stream->id))
          kept.insert(std::move(known));
    outlines = std::move(kept);
  }

  /// Every workspace keeps to its rules; now all of them to the limit.
  void see_to_total() {
    std::vector<std::string> names;
    std::vector<const stream_outline*> of;
    for (const auto& stream : deps->log.streams())
      if (const auto known = outlines.find(stream.id); known != outlines.end() && !stream.ended) {
        names.push_back(stream.name);
        of.push_back(&known->second);
      }
    auto plan = plan_total(of, deps->total_bytes);
    auto kept = plan.bytes;
    for (auto& [place, removal] : plan.removals) {
      kept -= std::min(kept, removal.note.bytes);
      add_chore(names[place], {}).wanted = std::move(removal);
    }
    deps->metrics.bytes_kept(kept, plan.beyond);
    if (plan.beyond > 0 && !is_over)
      logging::warning(
        "janitor",
        "the events of all workspaces stay {} bytes beyond retain.total_bytes ({}): what is left "
        "are turns that are not over, results that were not delivered, and the last turn of "
        "each workspace",
        plan.beyond, show_bytes(deps->total_bytes));
    is_over = plan.beyond > 0;
  }

  void step() {
    if (todo.empty() && !std::exchange(total_seen_to, true))
      see_to_total();
    if (todo.empty()) {
      self->delayed_send(self, deps->every, tick_atom::value);
      return;
    }
    if (const auto gone_on = work(todo.front()); !gone_on) {
      logging::warning("janitor", "{} is left as it is: {}", todo.front().workspace,
                       gone_on.error().describe());
      todo.pop_front();
      step_later();
    }
  }

  void step_later() { self->delayed_send(self, deps->pause, step_atom::value); }

  void done_with_it() {
    todo.pop_front();
    step_later();
  }

  // -- one step --------------------------------------------------------------

  expected<void> work(chore& at) {
    const auto stream = deps->log.find(at.workspace);
    if (!stream)
      return tl::unexpected(stream.error());
    if (stream->ended) { // it takes no event that could tell of a removal
      done_with_it();
      return {};
    }
    auto& outline = outlines.try_emplace(stream->id, stream->trimmed).first->second;
    if (at.told && at.told->what == removal_kind::deltas)
      return empty(at, *stream, outline);
    if (at.told) {
      if (auto turns = recorded_turns(at, outline); !turns->empty()) {
        forget_recordings(at, std::move(turns));
        return {};
      }
      return trim(at, *stream, outline);
    }
    if (outline.seen() < stream->head)
      return look_at(*stream, outline);
    if (at.wanted) {
      tell(at, *std::exchange(at.wanted, std::nullopt));
    } else if (const auto owed = outline.owed_trim()) {
      at.told.emplace();
      at.told->to = *owed;
      step_later();
    } else if (const auto deltas = outline.owed_deltas()) {
      at.told.emplace();
      at.told->what = removal_kind::deltas;
      at.told->to = deltas->second;
      at.next = deltas->first;
      step_later();
    } else if (auto plan = plan_trim(outline, at.rules, now_utc())) {
      tell(at, std::move(*plan));
    } else if (auto of_deltas = plan_deltas(outline, at.rules, now_utc())) {
      tell(at, std::move(*of_deltas));
    } else {
      done_with_it();
    }
    return {};
  }

  expected<void> look_at(const stream_info& stream, stream_outline& outline) {
    const auto read = deps->log.read(stream.id, outline.seen().next(), limits(deps->events_a_step),
                                     [&](const event_view& e) {
                                       outline.add(e);
                                       return true;
                                     });
    if (!read)
      return tl::unexpected(read.error());
    step_later();
    return {};
  }

  /// The workspace says what will be gone, before it is.
  void tell(chore& at, removal_plan plan) {
    const auto note = plan.note;
    auto what = std::make_shared<const command>(remove_events{std::move(plan.note), plan.until});
    self
      ->request(deps->directory, caf::infinite, route_atom::value, at.workspace, false,
                command_ptr{std::move(what)})
      .then(
        [this, note](const reply_ptr& reply) {
          if (!*reply)
            return left_as_it_is(reply->error());
          logging::info("janitor", "{}: removing {} of {} events up to {} ({})",
                        todo.front().workspace, to_string(note.what), note.count, note.to.value,
                        note.reason);
          deps->metrics.bytes_removed(note.reason, note.bytes);
          todo.front().told = note;
          todo.front().next = note.from;
          step_later();
        },
        [this](const caf::error&) {
          left_as_it_is({errc::unavailable, "the workspace did not answer"});
        });
  }

  void left_as_it_is(const error& why) {
    logging::info("janitor", "{}: nothing is removed now: {}", todo.front().workspace,
                  why.describe());
    done_with_it();
  }

  // -- removals --------------------------------------------------------------

  /// The turns that go and that something may be recorded of.
  turn_ids_ptr recorded_turns(chore& at, const stream_outline& outline) const {
    std::vector<std::string> out;
    for (const auto& turn : outline.turns()) {
      if (!deps->recordings || turn.first > at.told->to || out.size() == most_forgotten)
        break;
      if (turn.first <= at.forgotten)
        continue;
      at.forgotten = turn.first;
      out.push_back(turn.id);
    }
    return std::make_shared<const std::vector<std::string>>(std::move(out));
  }

  /// Before the events: as long as these are there, a look after a crash knows of the turns.
  void forget_recordings(const chore& at, turn_ids_ptr turns) {
    const auto left_there = [this, name = at.workspace](const std::string& why) {
      logging::warning("janitor",
                       "{}: what agent.snapshots recorded of turns that go stays where it is: {}",
                       name, why);
      step_later();
    };
    self
      ->request(deps->recordings, caf::infinite, forget_atom::value, at.workspace, std::move(turns))
      .then(
        [this, left_there](const forgotten_ptr& reply) {
          if (*reply)
            step_later();
          else
            left_there(reply->error().describe());
        },
        [left_there](const caf::error&) { left_there("git is not run any more"); });
  }

  expected<void> trim(chore& at, const stream_info& stream, stream_outline& outline) {
    const auto to = std::min(at.told->to, offset{stream.head.value - 1});
    auto what = std::make_shared<removal>();
    what->stream = stream.id;
    what->incarnation = stream.incarnation;
    const auto read = deps->log.read(stream.id, stream.first(), limits(deps->removals_a_step),
                                     [&](const event_view& e) {
                                       if (e.at > to)
                                         return false;
                                       what->last = e.at;
                                       take_along(e, *what);
                                       return true;
                                     });
    if (!read)
      return tl::unexpected(read.error());
    const auto last = std::max(what->last, stream.trimmed);
    carry_out(std::move(what), [this, last, to, &outline] {
      if (last < to)
        return;
      outline.forget_events(to);
      todo.front().told.reset();
    });
    return {};
  }

  /// What was written beside the event.
  static void take_along(const event_view& e, removal& what) {
    const auto data =
      audit_term::is_unsearchable(e.type) ? expected<json>{json::object()} : parse_json(e.data);
    if (data)
      if (auto terms = audit_terms(e.workspace, e.type, e.turn, *data); !terms.empty())
        what.postings.push_back({e.global, std::move(terms)});
    if (e.type == "turn.queued")
      what.derived.push_back({table::turns, record_key::turn(e.stream, e.turn), std::nullopt});
  }

  expected<void> empty(chore& at, const stream_info& stream, stream_outline& outline) {
    auto what = std::make_shared<removal>();
    what->stream = stream.id;
    what->incarnation = stream.incarnation;
    at.next = std::max(at.next, stream.first());
    const auto to = at.told->to;
    const auto read =
      deps->log.read(stream.id, at.next, limits(deps->removals_a_step), [&](const event_view& e) {
        if (e.at > to)
          return false;
        at.next = e.at.next();
        if (e.type != emptied_event_type || e.emptied)
          return true;
        const auto data = parse_json(e.data);
        const auto item = data ? string_or(*data, "item") : std::string{};
        if (!item.empty() && !outline.is_open(item))
          what->emptied.push_back({e.at, dump_json(emptied_delta(item))});
        return true;
      });
    if (!read)
      return tl::unexpected(read.error());
    carry_out(std::move(what), [this, to, over = at.next > to || read->reached_head, &outline] {
      if (!over)
        return;
      outline.forget_deltas(to);
      todo.front().told.reset();
    });
    return {};
  }

  /// `then` runs once the step is durable, or at once if there is nothing to do in it.
  template <class Then>
  void carry_out(std::shared_ptr<removal> what, Then then) {
    if (what->last == offset{} && what->emptied.empty()) {
      then();
      step_later();
      return;
    }
    self->request(deps->writer, caf::infinite, remove_atom::value, removal_ptr{std::move(what)})
      .then(
        [this, then](const removal_reply_ptr& reply) {
          if (!*reply)
            return left_as_it_is(reply->error());
          then();
          step_later();
        },
        [this](const caf::error&) {
          left_as_it_is({errc::unavailable, "the log is down"});
        });
  }

  static read_limits limits(std::size_t events) { return {events, bytes_a_step, true}; }
};

janitor_actor::behavior_type janitor(janitor_actor::stateful_pointer<janitor_state> self,
                                     janitor_deps deps) {
  self->state.self = self;
  const auto first = std::min(deps.first_after, deps.every);
  self->state.deps.emplace(std::move(deps));
  self->set_exception_handler([self](std::exception_ptr&) -> caf::error {
    const auto& todo = self->state.todo;
    logging::error("janitor", "failed at {} and ends: nothing is removed until the next start",
                   todo.empty() ? "no workspace" : todo.front().workspace);
    return caf::exit_reason::unhandled_exception;
  });
  self->delayed_send(self, first, tick_atom::value);
  return {[self](tick_atom) { self->state.sweep(); }, [self](step_atom) { self->state.step(); },
          [self](stop_atom) {
            self->quit();
            return true;
          }};
}

} // namespace

janitor_actor spawn_janitor(caf::actor_system& system, janitor_deps deps) {
  return system.spawn<caf::detached>(janitor, std::move(deps));
}

} // namespace tidemark
