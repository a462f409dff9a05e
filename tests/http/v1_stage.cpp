#include "tests/http/v1_stage.hpp"

#include <caf/send.hpp>

#include <catch2/catch.hpp>

namespace v1_test {

namespace {

directory_actor::behavior_type play_directory(directory_actor::pointer self,
                                              played_workspaces* with) {
  return {
    [with](route_atom, const std::string& workspace, bool create_it, const command_ptr& what) {
      return with->ask(workspace, create_it, *what);
    },
    [with](list_atom) { return with->list(); },
    [](summary_atom, const summary_ptr&) {},
    [](tick_atom) {},
    [](restart_atom, const std::string&) {},
    [self](stop_atom) {
      self->quit();
      return true;
    },
  };
}

agent_probe_actor::behavior_type play_probe(agent_probe_actor::pointer self,
                                            std::atomic<int>* probes) {
  const auto result = [](bool probed) -> probe_ptr {
    auto found = std::make_shared<probe_result>();
    found->available = probed;
    if (probed) {
      found->tools = std::vector<std::string>{"Bash", "Read"};
      found->agent_version = "2.1.0";
    }
    return found;
  };
  return {
    [=](list_atom) { return result(*probes > 0); },
    [=](probe_atom) {
      ++*probes;
      return result(true);
    },
    [self](stop_atom) {
      self->quit();
      return true;
    },
  };
}

} // namespace

played_workspaces::place& played_workspaces::open(const std::string& workspace) {
  const auto [found, is_new] = places_.try_emplace(workspace);
  auto& at = found->second;
  if (is_new) {
    at.stream = log_.acquire(workspace).value();
    at.state.id = workspace;
    at.state.stream = at.stream.id;
    at.state.incarnation = at.stream.incarnation;
    apply(at, create(at.state, rules_, now_utc()));
  }
  return at;
}

std::optional<expected<answer>> played_workspaces::apply(place& at, decided what) {
  if (!what.events.empty()) {
    append_request request{at.stream.id, at.stream.incarnation, at.stream.head, what.events,
                           what.derived};
    const auto done = log_.commit(std::span{&request, 1});
    if (!done.front())
      throw std::runtime_error("the log refused: " + done.front().error().why.message);
    std::vector<event_ptr> stored;
    read_limits limits;
    limits.max_events = what.events.size();
    limits.max_bytes = 1 << 30;
    const auto keep = [&](const event_view& e) {
      stored.push_back(std::make_shared<const event>(
        event{std::string{e.workspace}, e.stream, e.incarnation, e.at, e.global, e.time,
              std::string{e.type}, std::string{e.turn}, std::string{e.data}, nullptr, *e.hash}));
      return true;
    };
    log_.read(at.stream.id, at.stream.head.next(), limits, keep).value();
    at.stream.head = stored.back()->at;
    events_.publish(stored);
  }
  for (const auto& effect : what.effects)
    if (const auto* start = std::get_if<start_turn>(&effect))
      at.begun = start->begin.turn;
  return what.reply;
}

reply_ptr played_workspaces::ask(const std::string& workspace, bool create_it,
                                 const command& what) {
  const std::lock_guard lock{mutex_};
  if (!create_it && !places_.contains(workspace))
    return std::make_shared<const expected<answer>>(
      fail(errc::not_found, "no workspace \"" + workspace + "\""));
  if (const auto* submitted = std::get_if<submit_turn>(&what))
    last_submission_ = *submitted;
  auto& at = open(workspace);
  auto turn = "turn-" + std::to_string(++turns_);
  if (const auto* submitted = std::get_if<submit_turn>(&what);
      submitted && !submitted->turn.empty())
    turn = submitted->turn;
  auto reply = apply(at, decide(at.state, rules_, what, turn, at.clients, now_utc()));
  if (reply && *reply)
    if (auto* accepted = std::get_if<submit_reply>(&**reply))
      accepted->stream = at.stream;
  return std::make_shared<const expected<answer>>(reply.value());
}

summaries_ptr played_workspaces::list() {
  const std::lock_guard lock{mutex_};
  auto all = std::make_shared<std::vector<workspace_summary>>();
  for (const auto& [id, at] : places_) {
    workspace_summary line;
    line.id = id;
    line.created = at.state.created;
    line.updated = at.state.last_time;
    if (!at.state.session.empty())
      line.session = at.state.session;
    line.busy = at.state.busy();
    all->push_back(std::move(line));
  }
  return all;
}

void played_workspaces::report(const std::string& workspace, const session_report& what) {
  const std::lock_guard lock{mutex_};
  auto& at = open(workspace);
  apply(at, decide(at.state, rules_, what, at.clients, now_utc()));
}

void played_workspaces::shut_down(const std::string& workspace) {
  const std::lock_guard lock{mutex_};
  auto& at = open(workspace);
  apply(at, on_shutdown(at.state, rules_, at.clients, now_utc()));
}

void played_workspaces::start(const std::string& workspace, const std::string& turn) {
  session_report what;
  what.turn = turn;
  what.started = session_started{"claude", "2.1.0", 1, "cold"};
  what.session = "session-of-" + workspace;
  report(workspace, what);
}

void played_workspaces::tell(const std::string& workspace, const std::string& turn,
                             const std::string& type, json data) {
  session_report what;
  what.turn = turn;
  what.events.push_back({type, std::move(data)});
  report(workspace, what);
}

void played_workspaces::say(const std::string& workspace, const std::string& turn,
                            const std::string& text) {
  auto item = json::object();
  item["id"] = "item-" + std::to_string(history(workspace).size());
  item["kind"] = "message";
  item["role"] = "assistant";
  auto data = json::object();
  data["item"] = item;
  tell(workspace, turn, "item.started", data);
  auto delta = json::object();
  delta["item"] = item["id"];
  delta["text"] = text;
  tell(workspace, turn, "item.delta", delta);
  data["item"]["text"] = text;
  tell(workspace, turn, "item.completed", data);
}

void played_workspaces::end(const std::string& workspace, const std::string& turn,
                            turn_result result) {
  session_report what;
  what.turn = turn;
  what.end = std::move(result);
  report(workspace, what);
}

void played_workspaces::succeed(const std::string& workspace, const std::string& turn,
                                const std::string& text) {
  turn_result result;
  result.how = outcome::succeeded;
  result.text = text;
  end(workspace, turn, std::move(result));
}

std::string played_workspaces::begun(const std::string& workspace) {
  const std::lock_guard lock{mutex_};
  return places_.contains(workspace) ? places_.at(workspace).begun : std::string{};
}

submit_turn played_workspaces::last_submission() {
  const std::lock_guard lock{mutex_};
  return last_submission_;
}

std::vector<pending_result> played_workspaces::pending(const std::string& workspace) {
  const std::lock_guard lock{mutex_};
  std::vector<pending_result> all;
  for (const auto& [id, result] : open(workspace).state.pending)
    all.push_back(result);
  return all;
}

std::size_t played_workspaces::undelivered(const std::string& workspace) {
  const std::lock_guard lock{mutex_};
  return open(workspace).state.undelivered.size();
}

std::vector<std::string> played_workspaces::history(const std::string& workspace) {
  const std::lock_guard lock{mutex_};
  std::vector<std::string> types;
  const auto keep = [&](const event_view& e) {
    auto type = std::string{e.type};
    if (type == "turn.completed")
      type += " " + string_or(parse_json(e.data).value(), "outcome");
    types.push_back(std::move(type));
    return true;
  };
  log_.read(open(workspace).stream.id, offset{1}, read_limits{}, keep).value();
  return types;
}

v1_stage::actors_config::actors_config() {
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", std::size_t{2});
}

v1_stage::v1_stage(http_options options)
  : options_(std::move(options)),
    system_(std::make_unique<caf::actor_system>(config_)) {
  options_.port = 0;
  directory_ = system_->spawn(play_directory, &workspaces);
  probe_ = system_->spawn(play_probe, &probes);
  services_.reset(new http_services{options_, log, events, metrics_, directory_, probe_, blocking_,
                                    background_, "/workspaces", "1.2.3", policy::agent, stopping_,
                                    quiet_});
  server_ = std::make_unique<http_server>(*system_, *services_);
  const auto bound = server_->start();
  if (!bound)
    throw std::runtime_error(bound.error().describe());
  port = *bound;
}

void v1_stage::begin_stop() {
  server_->refuse_new();
}

void v1_stage::stop() {
  server_->stop(std::chrono::seconds{3});
}

v1_stage::~v1_stage() {
  server_->stop(std::chrono::seconds{1});
  server_.reset();
  caf::anon_send_exit(directory_, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(probe_, caf::exit_reason::user_shutdown);
  services_.reset();
  directory_ = directory_actor{};
  probe_ = agent_probe_actor{};
  system_.reset();
}

} // namespace v1_test
