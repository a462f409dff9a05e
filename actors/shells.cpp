#include "actors/shells.hpp"

#include "base/logging.hpp"
#include "base/uuid.hpp"

#include <caf/response_promise.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <map>
#include <ranges>
#include <string>

namespace tidemark {
namespace {

struct known_shell {
  shell_actor actor;
  std::shared_ptr<shell_record> record;
};

class shells final : public asio_actor {
public:
  shells(caf::actor_config& config, asio_unit* unit, shell_runtime* runtime,
         directory_actor directory)
    : asio_actor(config, unit),
      unit_(*unit),
      runtime_(*runtime),
      directory_(std::move(directory)) {}

  caf::behavior make_behavior() override {
    set_down_handler([this](const caf::down_msg& down) { on_down(down); });
    return {
      [this](open_atom, const shell_request_ptr& what) {
        auto answer = make_response_promise();
        open(what, answer);
        return answer;
      },
      [this](list_atom) { return list(); },
      [this](close_atom, const std::string& id, const std::string& by) {
        auto answer = make_response_promise();
        if (const auto found = known_.find(id); found != known_.end())
          answer.delegate(found->second.actor, close_atom::value, std::string{"client"}, by);
        else
          answer.deliver(false);
        return answer;
      },
      [this](attach_atom, const std::string& id, const shell_client_ptr& who) {
        auto answer = make_response_promise();
        const auto found = known_.find(id);
        if (found != known_.end() && found->second.record->opened)
          answer.delegate(found->second.actor, attach_atom::value, who);
        else
          answer.deliver(no_such_shell());
        return answer;
      },
      [this](stop_atom) {
        auto answer = make_response_promise();
        stop(answer);
        return answer;
      },
    };
  }

  const char* name() const override { return "shells"; }

  void on_exit() override {
    for (const auto& each : std::views::values(known_))
      caf::anon_send_exit(each.actor, caf::exit_reason::user_shutdown);
    known_.clear();
    directory_ = directory_actor{};
    if (on_stopped_.pending())
      on_stopped_.deliver(false);
    asio_actor::on_exit();
  }

private:
  void open(const shell_request_ptr& what, caf::response_promise& answer) {
    if (const auto why = refusal(what->workspace); !why.empty()) {
      answer.deliver(
        shell_info_ptr{std::make_shared<const expected<shell_info>>(fail(errc::unavailable, why))});
      return;
    }
    forget_oldest_end();
    known_shell added;
    added.record = std::make_shared<shell_record>();
    added.record->info.id = new_uuid(now_utc());
    added.record->info.workspace = what->workspace;
    added.actor = spawn_shell(system(), unit_, runtime_, directory_, added.record);
    monitor(added.actor);
    answer.delegate(added.actor, open_atom::value, what);
    known_.emplace(added.record->info.id, std::move(added));
  }

  /// Why no shell can be opened now; empty if one can.
  [[nodiscard]] std::string refusal(const std::string& workspace) const {
    const auto& limits = runtime_.options;
    if (stopping_)
      return "the server is stopping";
    std::size_t all = 0;
    std::size_t here = 0;
    for (const auto& each : std::views::values(known_)) {
      if (each.record->closed)
        continue;
      ++all;
      here += each.record->info.workspace == workspace ? 1 : 0;
    }
    if (all >= limits.max)
      return fmt::format("{} shells are open, as many as there may be (shell.max)", all);
    if (here >= limits.max_per_workspace)
      return fmt::format("{} shells are open in this workspace, as many as there may be "
                         "(shell.max_per_workspace)",
                         here);
    return {};
  }

  /// Ends are kept for clients that come back, but no more of them than shells may live.
  void forget_oldest_end() {
    const auto closed = [](const auto& each) { return each.second.record->closed; };
    const auto count = std::ranges::count_if(known_, closed);
    const auto oldest = std::ranges::find_if(known_, closed); // ids sort by time
    if (static_cast<std::size_t>(count) < runtime_.options.max || oldest == known_.end())
      return;
    send_exit(oldest->second.actor, caf::exit_reason::user_shutdown);
    known_.erase(oldest);
  }

  [[nodiscard]] shell_list_ptr list() const {
    auto all = std::make_shared<std::vector<shell_info>>();
    for (const auto& each : std::views::values(known_))
      if (each.record->opened && !each.record->closed)
        all->push_back(each.record->info);
    return all;
  }

  static shell_attachment_ptr no_such_shell() {
    return std::make_shared<const expected<shell_attachment>>(
      fail(errc::not_found, "there is no such shell"));
  }

  void on_down(const caf::down_msg& down) {
    const auto found = std::ranges::find_if(
      known_, [&](const auto& each) { return each.second.actor.address() == down.source; });
    if (found == known_.end())
      return;
    const auto record = found->second.record;
    known_.erase(found);
    if (record->closed || record->info.pid == 0)
      return;
    // It failed on the way: the log must not have it open for ever.
    logging::error("shell", "shell {} failed: {}", record->info.id, system().render(down.reason));
    runtime_.metrics.fault("shell");
    request(directory_, caf::infinite, route_atom::value, record->info.workspace, false,
            command_ptr{
              std::make_shared<const command>(close_shell{record->info.id, "server", {}, -1, 0})})
      .then([](const reply_ptr&) {}, [](const caf::error&) {});
  }

  void stop(const caf::response_promise& answer) {
    stopping_ = true;
    on_stopped_ = answer;
    ending_ = known_.size();
    const auto ended = [this] {
      if (--ending_ == 0 && on_stopped_.pending())
        on_stopped_.deliver(true);
    };
    for (const auto& each : std::views::values(known_))
      request(each.actor, caf::infinite, close_atom::value, std::string{"server"}, std::string{})
        .then([ended](bool) { ended(); }, [ended](const caf::error&) { ended(); });
    if (ending_ == 0)
      on_stopped_.deliver(true);
  }

  asio_unit& unit_;
  shell_runtime& runtime_;
  directory_actor directory_;
  std::map<std::string, known_shell> known_;
  caf::response_promise on_stopped_;
  std::size_t ending_ = 0;
  bool stopping_ = false;
};

} // namespace

shells_actor spawn_shells(caf::actor_system& system, asio_unit& unit, shell_runtime& runtime,
                          directory_actor directory) {
  const auto spawned = system.spawn<shells>(&unit, &runtime, std::move(directory));
  return caf::actor_cast<shells_actor>(spawned);
}

} // namespace tidemark
