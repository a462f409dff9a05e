#include "actors/webhooks.hpp"

#include "actors/alarm.hpp"
#include "actors/delivery_places.hpp"
#include "actors/served_webhook.hpp"
#include "base/logging.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <random>
#include <utility>

namespace tidemark {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// How often a place is recorded that moved only over events that the webhook does not want.
constexpr auto passing_interval = 1s;
/// When to look again after the log or the workspace refused, or the stream has ended.
constexpr auto look_again = 2s;
/// How long a delivery may take before it makes room for others that are quick.
constexpr auto patience = 1s;
/// Events looked at for one webhook before the others have their turn.
constexpr std::size_t looked_at_in_turn = 1000;

/// Wakes the actor when a workspace has new events, once until it has looked.
struct watched_stream {
  stream_id id;
  std::shared_ptr<std::atomic<bool>> told;
  hub::registration registration;
};

struct webhooks_state {
  static inline const char* name = "webhooks";

  webhooks_actor::pointer self = nullptr;
  std::optional<webhooks_deps> deps;
  std::map<webhook_key, served_webhook> hooks;
  std::map<std::string, watched_stream> watched;
  std::map<std::uint64_t, webhook_key> deliveries;
  std::optional<delivery_places> places;
  std::uint64_t last_delivery = 0;
  alarm<steady::time_point> next_tick;
  bool looking = false; // at all of them: the soonest of their ticks is sent for at the end
  std::optional<steady::time_point> soonest;
  std::minstd_rand random{std::random_device{}()};

  void start() {
    places.emplace(deps->options.max_transfers, patience);
    const auto stored = all_consumers(deps->log);
    if (!stored)
      return logging::error("webhooks", "no webhook is served, their records cannot be read: {}",
                            stored.error().describe());
    for (const auto& [workspace, all] : *stored)
      for (const auto& [hook_name, who] : all)
        if (who.push)
          serve({workspace, hook_name}, who);
  }

  void serve(const webhook_key& key, const consumer& who) {
    if (!deps->options.enabled)
      return;
    served_webhook fresh;
    fresh.push = *who.push;
    fresh.incarnation = who.incarnation;
    fresh.done = fresh.recorded = who.at;
    const auto known = hooks.find(key);
    if (known != hooks.end() && known->second.delivery)
      deliveries.erase(*known->second.delivery); // its outcome counts for nothing
    hooks.insert_or_assign(key, std::move(fresh));
    advance(key);
  }

  void forget(const webhook_key& key) {
    const auto found = hooks.find(key);
    if (found == hooks.end())
      return;
    if (found->second.delivery)
      deliveries.erase(*found->second.delivery);
    hooks.erase(found);
    const auto next = hooks.lower_bound({key.first, {}});
    if (next == hooks.end() || next->first.first != key.first)
      watched.erase(key.first);
  }

  /// A client changed it, or it died: the log has it as it is now.
  void on_changed(const webhook_key& key) {
    const auto who = stored_consumer(deps->log, key.first, key.second);
    if (who && who->push) {
      const auto known = hooks.find(key);
      if (known == hooks.end() || known->second.push.generation != who->push->generation
          || known->second.push.dead != who->push->dead)
        serve(key, *who);
    } else if (!who && who.error().code != errc::not_found) {
      logging::error("webhooks", "the record of {} of {} cannot be read: {}", key.second, key.first,
                     who.error().describe());
    } else {
      forget(key);
    }
  }

  void on_wake(const std::string& workspace) {
    if (const auto found = watched.find(workspace); found != watched.end())
      found->second.told->store(false); // before the look, so that no event is missed
    for (auto i = hooks.lower_bound({workspace, {}});
         i != hooks.end() && i->first.first == workspace; ++i)
      advance(i->first);
  }

  void on_tick(std::uint64_t number) {
    if (!next_tick.rings(number))
      return;
    looking = true;
    for (auto& [key, each] : hooks) {
      advance(key);
      record(key, each);
    }
    call_waiting();
    looking = false;
    if (const auto when = std::exchange(soonest, std::nullopt))
      wake(*when);
  }

  /// Lets those begin that waited for a place.
  void call_waiting() {
    while (const auto called = places->next(steady::now()))
      if (hooks.contains(*called))
        advance(*called, true);
    wake_for_place();
  }

  void wake_for_place() {
    if (const auto when = places->next_change())
      wake(*when);
  }

  /// Sends what comes next, unless something is on its way or has to wait. `called`: for a place it
  /// need not wait any more.
  void advance(const webhook_key& key, bool called = false) {
    auto& h = hooks.at(key);
    if (h.push.dead || h.delivery || h.burying)
      return;
    if (steady::now() < h.next_try)
      return wake(h.next_try);
    const auto stream = deps->log.find(key.first);
    if (!stream)
      return wait(h, stream.error());
    watch(key.first, *stream);
    if (stream->incarnation != h.incarnation) { // the next life of the workspace, or a restored log
      h.done = carried_over(*stream, h.incarnation, h.done);
      h.incarnation = stream->incarnation;
      h.recorded = offset{};
      h.trouble = {};
    }
    if (stream->ended)
      wake(steady::now() + look_again); // no event of the next life wakes a reader of this one
    if (h.done < stream->trimmed) {
      logging::warning("webhooks",
                       "{} of {} never gets events {} to {}: retention has removed them",
                       key.second, key.first, h.done.next().value, stream->trimmed.value);
      h.missed = h.done = stream->trimmed;
    }
    if (h.done >= stream->head)
      return;
    send_next(key, h, *stream, called);
    record(key, h);
  }

  void send_next(const webhook_key& key, served_webhook& h, const stream_info& stream,
                 bool called) {
    read_limits limits;
    limits.max_events = looked_at_in_turn;
    std::optional<webhook_request> request;
    const auto before = h.done;
    const auto take = [&](const event_view& e) {
      if (!takes_type(h.push.types, e.type)) {
        h.done = e.at;
        return true;
      }
      h.sending = e.at;
      request = request_for(h.push, key.first, key.second, e, h.missed);
      return false;
    };
    const auto read = deps->log.read(stream.id, h.done.next(), limits, take);
    if (!read)
      return wait(h, read.error());
    if (request && (called || places->ask(key, h.is_slow(), steady::now())))
      return post(key, h, std::move(*request));
    if (request)
      return wake_for_place();
    if (h.done == before)
      return wait(
        h, {errc::corrupt, "the log lacks events after offset " + std::to_string(before.value)});
    if (h.recorded == before)
      h.record_from = steady::now() + passing_interval;
    if (h.done < stream.head)
      self->send(self, wake_atom::value, key.first); // after the others
  }

  void post(const webhook_key& key, served_webhook& h, webhook_request what) {
    const auto number = ++last_delivery;
    h.delivery = number;
    deliveries.emplace(number, key);
    h.began = steady::now();
    places->begin(number, h.is_slow(), h.began);
    deps->sender.send(std::move(what), [number, to = webhooks_actor{self}](webhook_answer answer) {
      caf::anon_send(to, delivered_atom::value, number, answer.status, std::move(answer.error));
    });
  }

  void on_delivered(std::uint64_t number, const webhook_answer& answer) {
    places->end(number);
    settle(number, answer);
    call_waiting();
  }

  void settle(std::uint64_t number, const webhook_answer& answer) {
    const auto found = deliveries.find(number);
    if (found == deliveries.end())
      return; // of a webhook that was changed or deleted meanwhile
    const auto key = found->second;
    deliveries.erase(found);
    auto& h = hooks.at(key);
    h.delivery.reset();
    h.was_slow = steady::now() - h.began > patience;
    const auto how = outcome_of(answer);
    if (how == delivery_outcome::delivered) {
      deps->metrics.webhook_delivery("delivered");
      h.done = h.sending;
      h.missed = offset{};
      h.trouble = {};
      h.record_from = {};
      record(key, h);
      return advance(key);
    }
    ++h.trouble.attempts;
    h.trouble.error = description_of(answer);
    h.trouble.failed = now_utc();
    if (how == delivery_outcome::refused || h.trouble.attempts >= h.push.max_attempts)
      return bury(key, h);
    deps->metrics.webhook_delivery("failed");
    const auto delay =
      retry_delay(h.trouble.attempts, deps->options.first_retry, deps->options.longest_retry,
                  static_cast<std::uint32_t>(random()));
    h.next_try = steady::now() + delay;
    h.trouble.next_attempt = h.trouble.failed.plus(delay);
    wake(h.next_try);
  }

  /// Tells the workspace how far it is: one message at a time, with the newest place.
  void record(const webhook_key& key, served_webhook& h) {
    if (h.recording || h.done <= h.recorded)
      return;
    if (steady::now() < h.record_from)
      return wake(h.record_from);
    h.recording = true;
    ack_consumer what;
    what.name = key.second;
    what.upto = cursor{h.incarnation, h.done};
    what.generation = h.push.generation;
    ask(key, std::move(what),
        [this, upto = h.done](const webhook_key& of, served_webhook& now, bool stored) {
          now.recording = false;
          if (stored)
            now.recorded = std::max(now.recorded, upto);
          else
            now.record_from = steady::now() + look_again;
          record(of, now);
        });
  }

  void bury(const webhook_key& key, served_webhook& h) {
    deps->metrics.webhook_delivery("dead");
    logging::warning("webhooks", "{} of {} is dead after {} attempts to deliver event {}: {}",
                     key.second, key.first, h.trouble.attempts, h.sending.value, h.trouble.error);
    h.burying = true;
    bury_webhook what;
    what.name = key.second;
    what.generation = h.push.generation;
    what.at = h.sending;
    what.attempts = h.trouble.attempts;
    what.error = h.trouble.error;
    ask(key, std::move(what), [this](const webhook_key& of, served_webhook& now, bool stored) {
      now.burying = false;
      if (stored)
        return on_changed(of);
      now.next_try = steady::now() + look_again; // one more attempt, and then again
      wake(now.next_try);
    });
  }

  /// Asks the workspace. `then` is called unless the webhook was changed or deleted meanwhile.
  template <class Then>
  void ask(const webhook_key& key, command what, Then then) {
    const auto generation = hooks.at(key).push.generation;
    const auto answered = [this, key, generation, then](bool stored) {
      const auto found = hooks.find(key);
      if (found != hooks.end() && found->second.push.generation == generation)
        then(key, found->second, stored);
    };
    self
      ->request(deps->directory, caf::infinite, route_atom::value, key.first, false,
                command_ptr{std::make_shared<const command>(std::move(what))})
      .then(
        [answered](const reply_ptr& reply) {
          if (!*reply)
            logging::warning("webhooks", "a workspace did not record a webhook's place: {}",
                             reply->error().describe());
          answered(reply->has_value());
        },
        [answered](const caf::error&) { answered(false); });
  }

  delivery_troubles_ptr troubles_of(const std::string& workspace) const {
    delivery_troubles out;
    for (auto i = hooks.lower_bound({workspace, {}});
         i != hooks.end() && i->first.first == workspace; ++i)
      if (i->second.trouble.attempts > 0)
        out.emplace(i->first.second, i->second.trouble);
    return std::make_shared<const delivery_troubles>(std::move(out));
  }

  void wait(served_webhook& h, const error& why) {
    logging::error("webhooks", "events for a webhook cannot be read: {}", why.describe());
    h.next_try = steady::now() + look_again;
    wake(h.next_try);
  }

  /// A tick at `when`, or before.
  void wake(steady::time_point when) {
    if (looking) {
      soonest = std::min(soonest.value_or(when), when);
      return;
    }
    const auto number = next_tick.set(when);
    if (!number)
      return;
    const auto delay = std::max<steady::duration>(when - steady::now(), 1ms);
    self->delayed_send(self, delay, tick_atom::value, *number);
  }

  void watch(const std::string& workspace, const stream_info& stream) {
    const auto known = watched.find(workspace);
    if (known != watched.end() && known->second.id == stream.id)
      return;
    auto told = std::make_shared<std::atomic<bool>>(false);
    auto on_events = [told, workspace, to = webhooks_actor{self}] {
      if (!told->exchange(true))
        caf::anon_send(to, wake_atom::value, workspace);
    };
    watched.insert_or_assign(
      workspace,
      watched_stream{stream.id, told, deps->events.subscribe(stream.id, std::move(on_events))});
    // What came between the look at the log and now woke nobody.
    self->send(self, wake_atom::value, workspace);
  }

  void leave() {
    watched.clear();
    hooks.clear();
    deliveries.clear();
    deps->directory = directory_actor{};
  }
};

webhooks_actor::behavior_type webhooks(webhooks_actor::stateful_pointer<webhooks_state> self,
                                       webhooks_deps deps) {
  auto& state = self->state;
  state.self = self;
  state.deps.emplace(std::move(deps));
  self->set_exit_handler([self](caf::exit_msg& why) {
    self->state.leave();
    self->quit(std::move(why.reason));
  });
  state.start();
  return {
    [self](changed_atom, const std::string& workspace, const std::string& hook_name) {
      self->state.on_changed({workspace, hook_name});
    },
    [self](list_atom, const std::string& workspace) { return self->state.troubles_of(workspace); },
    [self](wake_atom, const std::string& workspace) { self->state.on_wake(workspace); },
    [self](delivered_atom, std::uint64_t number, int status, const std::string& error) {
      self->state.on_delivered(number, {status, error});
    },
    [self](tick_atom, std::uint64_t number) { self->state.on_tick(number); },
    [self](stop_atom) {
      self->state.leave();
      self->quit(caf::exit_reason::user_shutdown);
      return true;
    }};
}

} // namespace

webhooks_actor spawn_webhooks(caf::actor_system& system, webhooks_deps deps) {
  return system.spawn<caf::detached>(webhooks, std::move(deps));
}

} // namespace tidemark
