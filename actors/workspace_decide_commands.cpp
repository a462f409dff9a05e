#include "actors/workspace_draft.hpp"
#include "actors/workspace_permissions.hpp"

#include <algorithm>
#include <iterator>
#include <ranges>

namespace tidemark {
namespace {

constexpr std::size_t preview_characters = 80;

/// The first characters of a prompt on one line (contracts: workspace API v1, TaskInfo).
std::string preview_of(std::string_view prompt) {
  std::size_t end = 0;
  for (std::size_t count = 0; end < prompt.size(); ++end) {
    const auto continues = (static_cast<unsigned char>(prompt[end]) & 0xC0) == 0x80;
    if (!continues && ++count > preview_characters)
      break;
  }
  auto text = repair_utf8(prompt.substr(0, end));
  std::ranges::replace_if(
    text, [](char c) { return (c >= '\n' && c <= '\r') || (c >= '\x1c' && c <= '\x1e'); }, ' ');
  for (const std::string_view wide : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"})
    for (auto at = text.find(wide); at != std::string::npos; at = text.find(wide, at))
      text.replace(at, wide.size(), " ");
  return text;
}

json options_of(const submit_turn& what) {
  json options = json::object();
  options["model"] = what.model;
  options["on_restart"] = what.on_restart == restart_rule::retry ? "retry" : "interrupt";
  options["timeout_s"] = what.timeout ? json(what.timeout->count()) : json(nullptr);
  options["holds_result"] = what.holds_result;
  options["metadata"] = what.metadata;
  // Names only: the values are secrets of this turn and never reach the log.
  auto names = json::array();
  for (const auto& name : std::views::keys(what.environment))
    names.push_back(name);
  options["env_names"] = std::move(names);
  return options;
}

class command_visitor {
public:
  command_visitor(workspace_draft& d, const std::string& new_turn, std::set<std::string>& clients)
    : d_(d),
      new_turn_(new_turn),
      clients_(clients) {}

  void operator()(const submit_turn& what) {
    if (const auto* known = remembered(what.idempotency_key))
      return repeat(*known, what);
    if (auto fits = check_size(what, d_.rules().max_prompt_bytes); !fits)
      return d_.reply(tl::unexpected(std::move(fits.error())));
    if (state().queue.size() >= d_.rules().max_queued)
      return d_.reply(fail(errc::too_large, "the queue is full ("
                                              + std::to_string(state().queue.size())
                                              + " turns wait); try again later"));
    const auto ahead = state().queue.size() + (state().running ? 1 : 0);
    json data = json::object();
    data["turn"] = new_turn_;
    data["source"] = what.source;
    if (!what.by.empty())
      data["by"] = what.by;
    data["prompt"] = what.prompt;
    data["prompt_preview"] = preview_of(what.prompt);
    data["position"] = ahead;
    data["options"] = options_of(what);
    if (!what.idempotency_key.empty()) {
      data["idempotency_key"] = what.idempotency_key;
      data["body_hash"] = what.body_hash;
    }
    if (what.holds_result)
      clients_.insert(new_turn_);
    d_.emit("turn.queued", new_turn_, data);
    d_.record(state().queue.back(), "queued");
    submit_reply reply;
    reply.turn = new_turn_;
    reply.at = state().head;
    reply.place = ahead;
    d_.reply(reply);
    start_next(d_);
  }

  void operator()(const cancel_turn& what) { cancel(what.turn, what.by); }

  void operator()(const cancel_current& what) {
    const auto* current = state().current();
    cancel(current ? current->turn : std::string{}, what.by);
  }

  void operator()(const interrupt_turn& what) {
    const auto* turn = find_turn(state(), what.turn);
    const auto* current = state().current();
    if (!turn || turn != current)
      return cancel(what.turn, what.by);
    auto& held = state().held;
    if (held && !held->interrupting) {
      held->interrupting = true;
      held->interrupted_by = what.by;
      d_.run(stop_turn{stop_force::interrupt});
    }
    d_.reply(cancel_reply{true, true});
  }

  void operator()(const reset_session& what) {
    reset_reply reply;
    if (!state().session.empty())
      reply.old_session = state().session;
    json data = json::object();
    data["session"] = reply.old_session ? json(*reply.old_session) : json(nullptr);
    data["by"] = what.by;
    d_.emit("session.reset", {}, data);
    if (state().held)
      state().held->reset = true;
    d_.reply(reply);
    start_next(d_); // a pause over failed logins ends here
  }

  void operator()(const describe_workspace&) {
    workspace_info info;
    info.id = state().id;
    info.path = d_.rules().path;
    info.created = state().created;
    info.updated = state().last_time;
    if (!state().session.empty())
      info.session = state().session;
    info.busy = state().busy();
    info.tools = state().tools;
    info.metadata = state().metadata;
    info.retain = state().retain;
    d_.reply(std::move(info));
  }

  void operator()(const get_queue&) {
    queue_reply reply;
    const auto* current = state().current();
    if (current)
      reply.current = task(*current);
    for (const auto& turn : state().queue)
      if (&turn != current)
        reply.waiting.push_back(task(turn));
    d_.reply(std::move(reply));
  }

  void operator()(const client_received& what) {
    clients_.erase(what.turn);
    // Pending already if the server recovered under the stream that its client went on reading.
    if (state().undelivered.contains(what.turn) || state().pending.contains(what.turn))
      deliver(what.turn, "stream");
    d_.reply(done{});
  }

  void operator()(const client_left& what) {
    clients_.erase(what.turn);
    d_.reply(done{});
    if (state().undelivered.contains(what.turn)) {
      json data = json::object();
      data["turn"] = what.turn;
      data["ttl_s"] = d_.rules().pending_ttl.count();
      d_.emit("result.pending", what.turn, data);
      return;
    }
    const auto* turn = find_turn(state(), what.turn);
    if (turn && turn->holds_result && turn != state().current())
      cancel_with(d_, what.turn, "its client left before it started", clients_);
  }

  void operator()(const get_pending&) {
    pending_reply reply;
    for (const auto& result : std::views::values(state().pending))
      if (result.expires > d_.now())
        reply.results.push_back(result);
    std::ranges::stable_sort(reply.results, {}, &pending_result::created);
    d_.reply(std::move(reply));
  }

  void operator()(const settle_pending& what) {
    settle_reply reply;
    for (const auto& id : what.ids)
      if (state().pending.contains(id)) {
        deliver(id, what.via, what.by);
        reply.ids.push_back(id);
      }
    d_.reply(std::move(reply));
  }

  void operator()(const open_shell& what) {
    json data = json::object();
    data["shell"] = what.shell;
    data["argv"] = what.argv;
    data["cwd"] = what.cwd;
    data["pid"] = what.pid;
    data["by"] = what.by;
    d_.emit("shell.opened", {}, data);
    d_.reply(done{});
  }

  void operator()(const close_shell& what) {
    d_.reply(done{});
    if (!state().open_shells.contains(what.shell))
      return; // its opening never became durable, or a recovery has closed it
    json exit = json::object();
    exit["code"] = what.code >= 0 ? json(what.code) : json(nullptr);
    exit["signal"] = what.signal == 0 ? json(nullptr) : json(what.signal);
    json data = json::object();
    data["shell"] = what.shell;
    data["reason"] = what.reason;
    if (!what.by.empty())
      data["by"] = what.by;
    data["exit"] = std::move(exit);
    d_.emit("shell.closed", {}, data);
  }

  void operator()(const decide_permission& what) { d_.reply(decide_request(d_, what)); }

  void operator()(const get_permissions&) { d_.reply(list_permissions(state())); }

  void operator()(const remove_rule& what) { d_.reply(forget_rule(d_, what)); }
  void operator()(const put_consumer& what) { on_consumer(d_, what); }
  void operator()(const ack_consumer& what) { on_consumer(d_, what); }
  void operator()(const delete_consumer& what) { on_consumer(d_, what); }
  void operator()(const bury_webhook& what) { on_consumer(d_, what); }
  void operator()(const revive_webhook& what) { on_consumer(d_, what); }

  void operator()(const remove_events& what) {
    if (needs_any_of(what))
      return d_.reply(fail(errc::conflict, "one of the events to be removed is still needed"));
    d_.emit(removal_event_type, {}, to_json(what.note));
    d_.save(); // recovery must not want what goes
    d_.reply(done{});
  }

  void operator()(const configure_workspace& what) {
    auto now = state().retain;
    json changed = json::object();
    for (const auto& [key, value] : what.retain.items()) {
      const auto old = now.contains(key) ? now[key] : json(nullptr);
      if (old == value)
        continue;
      json change = json::object();
      change["old"] = old;
      change["new"] = value;
      changed["retain." + key] = std::move(change);
      if (value.is_null())
        now.erase(key);
      else
        now[key] = value;
    }
    if (!changed.empty()) {
      json data = json::object();
      data["changed"] = std::move(changed);
      data["retain"] = now;
      data["by"] = what.by;
      d_.emit("workspace.configured", {}, data);
    }
    d_.reply(configure_reply{std::move(now)});
  }

private:
  workspace_state& state() { return d_.state(); }

  /// The janitor has seen to it already, but it looked at an earlier moment.
  bool needs_any_of(const remove_events& what) {
    const auto of_turn = [&](const turn_record& turn) { return turn.queued_at <= what.note.to; };
    const auto of_result = [&](const auto& each) { return each.second.created <= what.until; };
    if (what.note.to >= state().head)
      return true;
    if (what.note.what == removal_kind::deltas)
      return false;
    return (state().running && of_turn(*state().running))
           || std::ranges::any_of(state().queue, of_turn)
           || std::ranges::any_of(state().pending, of_result)
           || std::ranges::any_of(state().undelivered, of_result);
  }

  const remembered_key* remembered(const std::string& key) {
    if (key.empty())
      return nullptr;
    const auto& keys = state().idempotency;
    const auto count =
      static_cast<std::ptrdiff_t>(std::min(keys.size(), d_.rules().max_idempotency_keys));
    const auto found =
      std::find_if(keys.end() - count, keys.end(), [&](const auto& k) { return k.key == key; });
    return found == keys.end() ? nullptr : &*found;
  }

  void repeat(const remembered_key& known, const submit_turn& what) {
    if (known.body_hash != what.body_hash)
      return d_.reply(
        fail(errc::conflict, "the idempotency key was used with another request body"));
    submit_reply reply;
    reply.turn = known.turn;
    reply.at = known.at;
    reply.repeated = true;
    const auto& queue = state().queue;
    const auto waiting = std::ranges::find(queue, known.turn, &turn_record::turn);
    if (waiting != queue.end())
      reply.place = static_cast<std::size_t>(waiting - queue.begin()) + (state().running ? 1 : 0);
    d_.reply(reply);
  }

  void cancel(const std::string& turn, const std::string& by) {
    const auto* found = find_turn(state(), turn);
    if (!found)
      return d_.reply(cancel_reply{false, false});
    const auto runs = found == state().current();
    // The terminal event does not wait for the process: the caller hears at once, and the next turn
    // starts when the session says that the old one is over.
    cancel_with(d_, turn, by.empty() ? "the task was cancelled" : "the task was cancelled by " + by,
                clients_, by);
    if (runs && state().held)
      d_.run(stop_turn{stop_force::kill});
    d_.reply(cancel_reply{true, true});
    start_next(d_);
  }

  void deliver(const std::string& turn, const std::string& via, const std::string& by = {}) {
    json data = json::object();
    data["turn"] = turn;
    data["via"] = via;
    if (!by.empty())
      data["by"] = by;
    d_.emit("result.delivered", turn, data);
  }

  queued_task task(const turn_record& turn) {
    queued_task t;
    t.turn = turn.turn;
    t.source = turn.source;
    t.preview = turn.preview;
    t.enqueued = turn.enqueued;
    t.started = turn.started;
    t.cancelling = state().held && state().held->turn == turn.turn && state().held->interrupting;
    return t;
  }

  workspace_draft& d_;
  const std::string& new_turn_;
  std::set<std::string>& clients_;
};

/// At most what the turn's event takes: a byte of a text becomes up to six of JSON.
std::size_t size_as_event(const submit_turn& what) {
  constexpr std::size_t longest_escape = 6;
  constexpr std::size_t frame = 16 << 10; // names of members, the preview, numbers
  auto rest = what.source.size() + what.model.size() + what.idempotency_key.size();
  for (const auto& name : std::views::keys(what.environment))
    rest += name.size() + 3;
  rest = rest * longest_escape + dump_json(what.metadata).size() + frame;
  const auto widest = what.prompt.size() * longest_escape + rest;
  return widest <= event_log::max_event_bytes ? widest : quote_json(what.prompt).size() + rest;
}

} // namespace

expected<void> check_size(const submit_turn& what, std::size_t max_prompt_bytes) {
  if (what.prompt.size() > max_prompt_bytes)
    return fail(errc::too_large,
                "the prompt is larger than " + std::to_string(max_prompt_bytes) + " bytes");
  // An event over the limit would be cut, and the turn would run without its prompt.
  if (size_as_event(what) > event_log::max_event_bytes)
    return fail(errc::too_large, "the turn takes more than "
                                   + std::to_string(event_log::max_event_bytes) + " bytes as JSON");
  return {};
}

decided decide(workspace_state& working, const workspace_rules& rules, const command& what,
               const std::string& new_turn, std::set<std::string>& clients, timestamp now) {
  workspace_draft d{working, rules, now};
  std::visit(command_visitor{d, new_turn, clients}, what);
  return d.finish();
}

} // namespace tidemark
