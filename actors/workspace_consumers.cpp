#include "actors/workspace_draft.hpp"

#include <algorithm>

namespace tidemark {
namespace {

struct place {
  epoch incarnation;
  offset at;
};

expected<place> place_of(const workspace_state& state, const cursor& what) {
  if (what.incarnation && *what.incarnation != state.incarnation)
    return fail(errc::fenced, "the place is of epoch " + std::to_string(what.incarnation->value)
                                + ", the workspace is in epoch "
                                + std::to_string(state.incarnation.value));
  if (what.after > state.head)
    return fail(errc::ahead, "the place " + std::to_string(what.after.value)
                               + " lies beyond the last event, "
                               + std::to_string(state.head.value));
  return place{state.incarnation, what.after};
}

expected<place> place_of(const workspace_state& state, const consumer_start& from) {
  switch (from.where) {
  case start_at::first: return place{state.incarnation, offset{}};
  case start_at::head: return place{state.incarnation, state.head};
  case start_at::cursor: return place_of(state, from.after);
  }
  return place{state.incarnation, offset{}};
}

void save(workspace_draft& d, const consumer& who) {
  const auto& state = d.state();
  d.write({table::meta, record_key::consumer(state.id, who.name), to_record(who, state.id)});
}

consumer_reply reply_with(const consumer& who, bool created = false) {
  consumer_reply reply;
  reply.now = who;
  reply.created = created;
  return reply;
}

/// Later than any before it, also if the clock went back.
std::uint64_t generation_after(std::uint64_t last, timestamp now) {
  return std::max(last + 1, static_cast<std::uint64_t>(now.nanoseconds));
}

tl::unexpected<error> no_consumer(const std::string& name, bool pushes = false) {
  return fail(errc::not_found, std::string{"the workspace has no "}
                                 + (pushes ? "webhook" : "consumer") + " \"" + name + "\"");
}

tl::unexpected<error> of_other_kind(const consumer& who) {
  return fail(errc::conflict, "\"" + who.name + "\" is "
                                + (who.push ? "a webhook" : "a consumer that fetches its events"));
}

void apply(webhook& to, const put_consumer::webhook_change& what, timestamp now) {
  to.url = what.url;
  if (!what.secret.empty())
    to.secret = what.secret;
  if (to.secret.empty())
    to.secret = what.fresh_secret;
  if (what.types)
    to.types = *what.types;
  if (what.max_attempts)
    to.max_attempts = *what.max_attempts;
  to.generation = generation_after(to.generation, now);
}

/// The webhook of this name. Errors: `not_found`.
expected<consumer*> find_webhook(workspace_state& state, const std::string& name) {
  const auto found = state.consumers.find(name);
  if (found == state.consumers.end())
    return no_consumer(name, true);
  if (!found->second.push)
    return fail(errc::not_found, of_other_kind(found->second).value().message);
  return &found->second;
}

} // namespace

void on_consumer(workspace_draft& d, const put_consumer& what) {
  auto& consumers = d.state().consumers;
  if (const auto found = consumers.find(what.name); found != consumers.end()) {
    auto& known = found->second;
    if (known.push.has_value() != what.push.has_value())
      return d.reply(of_other_kind(known));
    if (known.push) {
      apply(*known.push, *what.push, d.now());
      save(d, known);
    }
    return d.reply(reply_with(known));
  }
  if (consumers.size() >= d.rules().max_consumers)
    return d.reply(fail(errc::conflict, "the workspace has " + std::to_string(consumers.size())
                                          + " consumers and webhooks, the limit (consumers.max) is "
                                          + std::to_string(d.rules().max_consumers)
                                          + ": delete one first"));
  const auto start = place_of(d.state(), what.from);
  if (!start)
    return d.reply(tl::unexpected(start.error()));
  consumer made;
  made.name = what.name;
  made.incarnation = start->incarnation;
  made.at = start->at;
  made.created = d.now();
  made.by = what.by;
  if (what.push)
    apply(made.push.emplace(), *what.push, d.now());
  save(d, made);
  d.reply(reply_with(made, true));
  consumers.insert_or_assign(what.name, std::move(made));
}

void on_consumer(workspace_draft& d, const ack_consumer& what) {
  auto& state = d.state();
  const auto found = state.consumers.find(what.name);
  if (found == state.consumers.end())
    return d.reply(no_consumer(what.name));
  auto& who = found->second;
  if (who.push.has_value() != what.generation.has_value())
    return d.reply(fail(errc::conflict, "\"" + what.name
                                          + "\" is a webhook: deliveries move its place, "
                                            "and POST …/redeliver"));
  // What was sent before a client put the webhook elsewhere does not bring it back.
  if (who.push && who.push->generation != *what.generation)
    return d.reply(reply_with(who));
  if (!what.upto.incarnation && who.incarnation != state.incarnation)
    return d.reply(fail(errc::fenced, "the consumer's place is of epoch "
                                        + std::to_string(who.incarnation.value)
                                        + ": say <epoch>-<offset>, the workspace is in epoch "
                                        + std::to_string(state.incarnation.value)));
  const auto upto = place_of(state, what.upto);
  if (!upto)
    return d.reply(tl::unexpected(upto.error()));
  if (who.incarnation != upto->incarnation || who.at < upto->at) {
    who.incarnation = upto->incarnation;
    who.at = upto->at;
    who.acked = d.now();
    save(d, who);
  }
  d.reply(reply_with(who));
}

void on_consumer(workspace_draft& d, const delete_consumer& what) {
  auto& state = d.state();
  const auto found = state.consumers.find(what.name);
  if (found == state.consumers.end())
    return d.reply(no_consumer(what.name, what.pushes));
  if (what.pushes && !found->second.push)
    return d.reply(tl::unexpected(find_webhook(state, what.name).error()));
  if (found->second.push && !what.pushes)
    return d.reply(
      fail(errc::conflict, "\"" + what.name + "\" is a webhook: DELETE …/webhooks/{name} ends it"));
  d.write({table::meta, record_key::consumer(state.id, what.name), std::nullopt});
  state.consumers.erase(found);
  d.reply(done{});
}

void on_consumer(workspace_draft& d, const bury_webhook& what) {
  const auto named = find_webhook(d.state(), what.name);
  if (!named)
    return d.reply(tl::unexpected(named.error()));
  auto* found = *named;
  auto& push = *found->push;
  if (push.generation == what.generation && !push.dead) {
    push.dead = true;
    push.error = what.error;
    json data = json::object();
    data["webhook"] = what.name;
    data["offset"] = what.at.value;
    data["attempts"] = what.attempts;
    data["error"] = what.error;
    d.emit("webhook.dead", {}, data);
    save(d, *found);
  }
  d.reply(reply_with(*found));
}

void on_consumer(workspace_draft& d, const revive_webhook& what) {
  auto& state = d.state();
  const auto named = find_webhook(state, what.name);
  if (!named)
    return d.reply(tl::unexpected(named.error()));
  auto* found = *named;
  if (what.from) {
    const auto start = place_of(state, *what.from);
    if (!start)
      return d.reply(tl::unexpected(start.error()));
    found->incarnation = start->incarnation;
    found->at = start->at;
  }
  auto& push = *found->push;
  push.dead = false;
  push.error.clear();
  push.generation = generation_after(push.generation, d.now());
  save(d, *found);
  d.reply(reply_with(*found));
}

} // namespace tidemark
