#include "tests/actors/actor_stage.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>

using namespace std::chrono_literals;

namespace tidemark::testing {
namespace {

struct fake_state {
  static inline const char* name = "fake_session";
  std::string turn;
};

session_report_ptr end_of(const std::string& turn, outcome how) {
  auto report = std::make_shared<session_report>();
  report->turn = turn;
  report->end.emplace();
  report->end->how = how;
  report->end->text = "done";
  if (how != outcome::succeeded)
    report->end->why = turn_error{"STOPPED", "stopped", false, json::object()};
  return report;
}

session_report_ptr start_of(const std::string& turn) {
  auto report = std::make_shared<session_report>();
  report->turn = turn;
  report->started.emplace();
  report->session = "conversation";
  return report;
}

agent_session_actor::behavior_type
fake_session(agent_session_actor::stateful_pointer<fake_state> self,
             const caf::actor_addr& weak_owner, const std::shared_ptr<session_log>& log) {
  const auto tell = [self, weak_owner](session_report_ptr report) {
    if (const auto owner = caf::actor_cast<workspace_actor>(weak_owner))
      self->request(owner, caf::infinite, report_atom::value, std::move(report))
        .then([](bool) {}, [](const caf::error&) {});
  };
  return {[=](begin_atom, const session_begin_ptr& what) {
            {
              const std::lock_guard lock{log->guard};
              log->begun.push_back(*what);
            }
            if (what->prompt == "die") {
              const std::lock_guard lock{log->guard};
              --log->live;
              self->quit();
              return;
            }
            self->state.turn = what->turn;
            tell(start_of(what->turn));
            if (what->prompt == "ok")
              tell(end_of(std::exchange(self->state.turn, {}), outcome::succeeded));
          },
          [=](answer_atom, const session_answer_ptr&) {},
          [=](halt_atom, stop_force how) {
            {
              const std::lock_guard lock{log->guard};
              log->halted.push_back(how);
            }
            if (!self->state.turn.empty())
              tell(end_of(std::exchange(self->state.turn, {}), outcome::interrupted));
          },
          [=](stop_atom) {
            const std::lock_guard lock{log->guard};
            --log->live;
            self->quit();
            return true;
          }};
}

} // namespace

std::size_t session_log::begun_count() {
  const std::lock_guard lock{guard};
  return begun.size();
}

int session_log::live_count() {
  const std::lock_guard lock{guard};
  return live;
}

session_begin session_log::begun_at(std::size_t i) {
  const std::lock_guard lock{guard};
  return begun.at(i);
}

actor_stage::config::config() {
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", std::size_t{2});
}

actor_stage::actor_stage(std::shared_ptr<memory_log> into, std::chrono::milliseconds idle_after)
  : log(std::move(into)) {
  system_.emplace(config_);
  log_writer_deps writer_deps{*log, readers, metrics};
  writer_deps.recover_every = 20ms;
  writer_ = spawn_log_writer(*system_, writer_deps);
  directory_deps deps{*log, writer_, metrics, {}, {}, {}};
  deps.make_session = [this, seen = sessions](const std::string&, const workspace_actor& owner) {
    const std::lock_guard lock{seen->guard};
    if (seen->throws > 0) {
      --seen->throws;
      throw std::runtime_error("no session today");
    }
    ++seen->live;
    return system_->spawn(fake_session, owner.address(), seen);
  };
  deps.idle_after = idle_after;
  deps.restart_backoff = 5ms;
  directory_ = spawn_directory(*system_, std::move(deps));
}

actor_stage::~actor_stage() {
  stop();
}

void actor_stage::keep(retention_rules rules, std::uint64_t total_bytes) {
  janitor_deps deps{*log, writer_, directory_, metrics, rules, total_bytes};
  deps.every = 20ms;
  deps.pause = 0ms;
  deps.events_a_step = 3;
  deps.removals_a_step = 2;
  janitor_ = spawn_janitor(*system_, std::move(deps));
}

bool actor_stage::stop() {
  if (!system_)
    return true;
  if (webhooks_) {
    caf::scoped_actor self{*system_};
    self->request(webhooks_, 10s, stop_atom::value).receive([](bool) {}, [](const caf::error&) {});
  }
  if (janitor_) {
    caf::scoped_actor self{*system_};
    self->request(janitor_, 10s, stop_atom::value).receive([](bool) {}, [](const caf::error&) {});
    janitor_ = janitor_actor{};
  }
  auto in_order = stop_directory();
  {
    caf::scoped_actor self{*system_};
    self->request(writer_, 10s, stop_atom::value)
      .receive([](bool) {}, [&](const caf::error&) { in_order = false; });
  }
  webhooks_ = webhooks_actor{};
  directory_ = directory_actor{};
  writer_ = log_writer_actor{};
  system_.reset(); // hangs if a handle is left over
  return in_order;
}

bool actor_stage::stop_directory() {
  if (std::exchange(directory_stopped_, true))
    return true;
  auto in_order = false;
  caf::scoped_actor self{*system_};
  self->request(directory_, 10s, stop_atom::value)
    .receive([&](bool all) { in_order = all; }, [](const caf::error&) {});
  return in_order;
}

expected<answer> actor_stage::ask(const std::string& workspace, command what, bool create) {
  caf::scoped_actor self{*system_};
  expected<answer> out = fail(errc::deadline, "no answer");
  self
    ->request(directory_, 10s, route_atom::value, workspace, create,
              command_ptr{std::make_shared<const command>(std::move(what))})
    .receive(
      [&](const reply_ptr& reply) { out = *reply; },
      [&](const caf::error& why) { out = fail(errc::internal, self->system().render(why)); });
  return out;
}

expected<submit_reply> actor_stage::submit(const std::string& workspace, const std::string& prompt,
                                           bool held) {
  submit_turn what;
  what.prompt = prompt;
  what.holds_result = held;
  auto reply = ask(workspace, what);
  if (!reply)
    return tl::unexpected(reply.error());
  return std::get<submit_reply>(*reply);
}

std::vector<workspace_summary> actor_stage::list() {
  caf::scoped_actor self{*system_};
  std::vector<workspace_summary> out;
  self->request(directory_, 10s, list_atom::value)
    .receive([&](const summaries_ptr& all) { out = *all; }, [](const caf::error&) {});
  return out;
}

void actor_stage::serve_webhooks(webhook_sender& sender, webhook_options how) {
  webhooks_ = spawn_webhooks(*system_, {*log, readers, directory_, metrics, sender, how});
}

void actor_stage::webhook_changed(const std::string& workspace, const std::string& name) {
  caf::anon_send(webhooks_, changed_atom::value, workspace, name);
}

std::vector<event> actor_stage::events(const std::string& workspace) const {
  std::vector<event> out;
  const auto stream = log->find(workspace);
  if (!stream)
    return out;
  read_limits all;
  all.max_events = 100'000;
  (void) log->read(stream->id, stream->first(), all, [&](const event_view& e) {
    event copy;
    copy.at = e.at;
    copy.global = e.global;
    copy.type = e.type;
    copy.turn = e.turn;
    copy.data = e.data;
    out.push_back(std::move(copy));
    return true;
  });
  return out;
}

std::size_t actor_stage::count(const std::string& workspace, std::string_view type,
                               std::string_view turn) const {
  const auto all = events(workspace);
  return static_cast<std::size_t>(std::ranges::count_if(
    all, [&](const event& e) { return e.type == type && (turn.empty() || e.turn == turn); }));
}

bool actor_stage::completed(const std::string& workspace, const std::string& turn,
                            std::string_view outcome) const {
  for (const auto& e : events(workspace))
    if (e.type == "turn.completed" && e.turn == turn)
      return string_or(parse_json(e.data).value_or(json::object()), "outcome") == outcome;
  return false;
}

} // namespace tidemark::testing
