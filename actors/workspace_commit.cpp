#include "actors/workspace_shell.hpp"

#include "base/json.hpp"
#include "base/logging.hpp"
#include "storage/removal_note.hpp"

#include <algorithm>

namespace tidemark {

void workspace_shell::take(decided out, std::optional<reply_promise> asker,
                           std::optional<bool_promise> credit) {
  transaction t;
  t.appends = !out.events.empty() || !out.derived.empty();
  const auto appends = t.appends;
  t.effects = std::move(out.effects);
  t.answered = std::move(out.reply);
  t.asker = std::move(asker);
  t.credit = std::move(credit);
  const auto behind = !in_flight.empty();
  in_flight.push_back(std::move(t));
  // What reads only still waits for what it has read: nobody sees a state that may not come to be.
  if (appends)
    append(std::move(out.events), std::move(out.derived), out.ends_stream);
  else if (!behind)
    settle_front();
}

void workspace_shell::append(std::vector<new_event> events, std::vector<table_write> derived,
                             bool ends_stream, bool at_the_end) {
  auto request = std::make_shared<append_request>();
  request->stream = stream.id;
  request->incarnation = stream.incarnation;
  request->expected = offset{working.head.value - events.size()};
  request->events = std::move(events);
  request->derived = std::move(derived);
  request->ends_stream = ends_stream;
  ++unanswered;
  const auto of = generation;
  self->request(deps.writer, caf::infinite, append_atom::value, append_ptr{std::move(request)})
    .then(
      [this, of, at_the_end](const append_reply_ptr& reply) {
        --unanswered;
        if (of == generation)
          committed(*reply, at_the_end);
        if (now_in == phase::recovering)
          recover();
        close_if_done();
      },
      [this, of](const caf::error&) {
        --unanswered;
        if (of == generation)
          give_up({errc::unavailable, "the log is down", true});
        if (now_in == phase::recovering)
          recover();
        close_if_done();
      });
}

void workspace_shell::committed(const append_reply& reply, bool at_the_end) {
  if (!reply.result) {
    const auto& why = reply.result.error().why;
    logging::error("workspace", "{}: events were not stored: {}", id, why.describe());
    give_up(why);
    return;
  }
  if (at_the_end) {
    snapshot_saved = true;
    return;
  }
  failures = 0;
  stream.head = reply.result->last;
  if (!reply.result->hashes.empty())
    stream.head_hash = reply.result->hashes.back();
  figures.committed(reply.events);
  figures.standing(working);
  // What still runs for its actor stays known to the next recovery until its end is stored.
  if (std::ranges::any_of(reply.events, [](const auto& e) { return e->type == "shell.closed"; }))
    std::erase_if(deps.slot->shells,
                  [this](const auto& shell) { return !working.open_shells.contains(shell); });
  for (const auto& e : reply.events) {
    if (e->type == "turn.completed")
      environments.erase(e->turn);
    else if (e->type == "turn.queued")
      places.emplace(e->turn, e->global);
    else if (e->type == removal_event_type)
      follow_removal(*e);
  }
  while (places.size() > deps.rules.max_idempotency_keys)
    places.erase(places.begin()); // ids sort by time
  settle_front();
  while (!in_flight.empty() && !in_flight.front().appends)
    settle_front();
}

/// What the log is about to lose waits for no reader any more.
void workspace_shell::follow_removal(const event& told) {
  const auto data = parse_json(told.data);
  const auto note = data ? removal_note_of(*data) : std::nullopt;
  if (note && note->what == removal_kind::turns)
    stream.trimmed = std::max(stream.trimmed, note->to);
}

void workspace_shell::settle_front() {
  auto t = std::move(in_flight.front());
  in_flight.pop_front();
  if (t.asker && t.answered) {
    if (*t.answered)
      fill_in(**t.answered);
    t.asker->deliver(reply_of(std::move(*t.answered)));
  }
  if (t.credit)
    t.credit->deliver(true);
  for (const auto& each : t.effects)
    run(each);
}

/// What only the log knows.
void workspace_shell::fill_in(answer& what) const {
  if (auto* submitted = std::get_if<submit_reply>(&what)) {
    submitted->stream = stream;
    if (const auto place = places.find(submitted->turn); place != places.end())
      submitted->global = place->second;
  } else if (auto* described = std::get_if<workspace_info>(&what)) {
    described->stream = stream;
  } else if (auto* reader = std::get_if<consumer_reply>(&what)) {
    reader->stream = stream;
  }
}

/// What is in flight never came to be, and the state that was built on it neither.
void workspace_shell::give_up(const error& why) {
  ++generation;
  ++failures;
  for (auto& t : std::exchange(in_flight, {})) {
    if (t.asker)
      t.asker->deliver(reply_of(tl::unexpected(why)));
    if (t.credit)
      t.credit->deliver(false);
  }
  if (now_in == phase::ready) {
    now_in = phase::recovering;
    refusal = why;
    stop_session();
  } else if (now_in == phase::closing) {
    durable_at_close = false;
    snapshot_saved = true; // of a state that does not exist
  }
}

} // namespace tidemark
