#include "actors/log_writer.hpp"

#include "base/logging.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <deque>
#include <unordered_map>
#include <utility>

namespace tidemark {
namespace {

using append_promise = caf::typed_response_promise<append_reply_ptr>;

std::size_t bytes_of(const append_request& request) {
  std::size_t sum = 0;
  for (const auto& e : request.events)
    sum += e.data.size() + (e.raw ? e.raw->size() : 0);
  for (const auto& record : request.derived)
    sum += record.key.size() + (record.value ? record.value->size() : 0);
  return sum;
}

/// A failure of the whole log, as opposed to the refusal of one request.
bool log_failed(errc code) {
  return code == errc::full || code == errc::io;
}

/// What is answered while the log is refusing: unlike the append whose failure made it refuse, nothing
/// of these can have been written.
error until_well(error why) {
  if (why.code == errc::io)
    why.code = errc::unavailable;
  why.retryable = true;
  return why;
}

struct waiting_append {
  append_ptr request;
  append_promise promise;
};

struct log_writer_state {
  static inline const char* name = "log_writer";

  log_writer_actor::pointer self = nullptr;
  std::optional<log_writer_deps> deps;
  std::deque<waiting_append> waiting;
  std::unordered_map<stream_id, std::string> names; // an append names its stream by id only
  bool flush_sent = false;
  bool recovery_sent = false;
  std::optional<error> refusing; // why the log accepts nothing at present

  void accept(append_ptr request, append_promise promise) {
    // Whoever was told that the log is well (/ready asks it) must not be refused for a while longer.
    if (refusing && deps->log.health().accepting)
      recover();
    if (refusing) {
      deps->metrics.append_refused(to_string(refusing->code));
      promise.deliver(refused(until_well(*refusing)));
      return;
    }
    waiting.push_back({std::move(request), std::move(promise)});
    ask_for_flush();
  }

  // Whatever is in the mailbox ahead of this message joins the batch: under load batches grow by
  // themselves, and an idle log commits at once.
  void ask_for_flush() {
    if (std::exchange(flush_sent, true))
      return;
    self->send(self, flush_atom::value);
  }

  void flush() {
    flush_sent = false;
    commit(take_batch());
    if (!waiting.empty())
      ask_for_flush();
  }

  std::vector<waiting_append> take_batch() {
    std::vector<waiting_append> batch;
    std::size_t events = 0;
    std::size_t bytes = 0;
    while (
      !waiting.empty()
      && (batch.empty() || (events < deps->max_batch_events && bytes < deps->max_batch_bytes))) {
      events += waiting.front().request->events.size();
      bytes += bytes_of(*waiting.front().request);
      batch.push_back(std::move(waiting.front()));
      waiting.pop_front();
    }
    return batch;
  }

  void commit(std::vector<waiting_append> batch) {
    if (batch.empty())
      return;
    std::vector<append_request> requests;
    requests.reserve(batch.size());
    for (const auto& each : batch)
      requests.push_back(*each.request);
    auto results = deps->log.commit(requests);
    note_failure(results);

    std::vector<std::shared_ptr<append_reply>> replies;
    std::vector<event_ptr> published;
    std::vector<stream_id> ended;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto reply = std::make_shared<append_reply>();
      reply->result = i < results.size() ? std::move(results[i]) : append_result{no_answer()};
      if (reply->result) {
        reply->events = stored(std::move(requests[i]), *reply->result);
        published.insert(published.end(), reply->events.begin(), reply->events.end());
        if (batch[i].request->ends_stream)
          ended.push_back(batch[i].request->stream);
      } else {
        deps->metrics.append_refused(to_string(reply->result.error().why.code));
      }
      replies.push_back(std::move(reply));
    }
    // Readers first: whoever hears that its append is done finds the events in the tail.
    deps->events.publish(published, ended);
    for (std::size_t i = 0; i < batch.size(); ++i)
      batch[i].promise.deliver(append_reply_ptr{std::move(replies[i])});
  }

  void note_failure(const std::vector<append_result>& results) {
    for (const auto& result : results) {
      if (result || !log_failed(result.error().why.code))
        continue;
      note_failure(result.error().why);
      return;
    }
  }

  void note_failure(const error& why) {
    refusing = why;
    deps->metrics.commit_failed(to_string(refusing->code));
    deps->metrics.log_accepting(false);
    logging::error("log", "the log accepts no events: {}", refusing->describe());
    recover_later();
  }

  removal_reply_ptr remove(const removal& what) {
    if (refusing && refusing->code != errc::full)
      return std::make_shared<const expected<removed>>(tl::unexpected(until_well(*refusing)));
    auto done = deps->log.remove(what);
    if (done)
      deps->metrics.events_removed(done->events, done->emptied);
    else if (log_failed(done.error().code))
      note_failure(done.error());
    return std::make_shared<const expected<removed>>(std::move(done));
  }

  void recover_later() {
    if (!std::exchange(recovery_sent, true))
      self->delayed_send(self, deps->recover_every, recover_atom::value);
  }

  void recover() {
    if (!refusing)
      return;
    if (!deps->log.try_recover()) {
      recover_later();
      return;
    }
    refusing.reset();
    deps->metrics.log_accepting(true);
    logging::info("log", "the log accepts events again");
  }

  std::vector<event_ptr> stored(append_request request, const appended& where) {
    std::vector<event_ptr> out;
    out.reserve(request.events.size());
    for (std::size_t i = 0; i < request.events.size(); ++i) {
      auto& from = request.events[i];
      auto e = std::make_shared<event>();
      e->workspace = name_of(request.stream, where.first);
      e->stream = request.stream;
      e->incarnation = request.incarnation;
      e->at = where.first.plus(i);
      e->global = where.first_global.plus(i);
      e->time = from.time;
      e->type = std::move(from.type);
      e->turn = std::move(from.turn);
      e->data = std::move(from.data);
      e->raw = std::move(from.raw);
      if (i < where.hashes.size())
        e->hash = where.hashes[i];
      out.push_back(std::move(e));
    }
    return out;
  }

  const std::string& name_of(stream_id stream, offset committed) {
    auto known = names.find(stream);
    if (known != names.end())
      return known->second;
    std::string found;
    const auto read =
      deps->log.read(stream, committed, {.max_events = 1}, [&](const event_view& e) {
        found = e.workspace;
        return false;
      });
    if (!read)
      logging::error("log", "cannot read back a committed event: {}", read.error().describe());
    return names.emplace(stream, std::move(found)).first->second;
  }

  static tl::unexpected<append_refusal> no_answer() {
    return tl::unexpected<append_refusal>{
      append_refusal{{errc::internal, "the log did not answer this append"}, {}, {}}};
  }

  static append_reply_ptr refused(const error& why) {
    auto reply = std::make_shared<append_reply>();
    reply->result = tl::unexpected<append_refusal>{append_refusal{why, {}, {}}};
    return reply;
  }

  void commit_all() {
    while (!waiting.empty())
      commit(take_batch());
  }
};

log_writer_actor::behavior_type
log_writer(log_writer_actor::stateful_pointer<log_writer_state> self, log_writer_deps deps) {
  auto& state = self->state;
  state.self = self;
  state.deps.emplace(deps);
  deps.metrics.log_accepting(deps.log.health().accepting);
  self->set_exit_handler([self](caf::exit_msg& why) {
    self->state.commit_all();
    self->quit(std::move(why.reason));
  });
  return {[self](append_atom, const append_ptr& request) -> caf::result<append_reply_ptr> {
            auto promise = self->make_response_promise<append_reply_ptr>();
            self->state.accept(request, promise);
            return promise;
          },
          [self](flush_atom) { self->state.flush(); },
          [self](recover_atom) {
            self->state.recovery_sent = false;
            self->state.recover();
          },
          [self](remove_atom, const removal_ptr& what) { return self->state.remove(*what); },
          [self](stop_atom) {
            self->state.commit_all();
            self->quit();
            return true;
          }};
}

} // namespace

log_writer_actor spawn_log_writer(caf::actor_system& system, log_writer_deps deps) {
  return system.spawn<caf::detached>(log_writer, deps);
}

} // namespace tidemark
