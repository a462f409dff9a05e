#include "actors/agent_session.hpp"

#include "actors/agent_runner.hpp"
#include "base/logging.hpp"

#include <caf/response_promise.hpp>

#include <vector>

namespace tidemark {
namespace {

/// The process is gone: answer whoever asked to stop, and end.
using gone_atom = caf::atom_constant<caf::atom("gone")>;

/// The runner's calls come from the I/O thread outside any handler, so what must happen inside one
/// (answers, the end) goes through the mailbox.
class agent_session final : public asio_actor {
public:
  agent_session(caf::actor_config& config, asio_unit* unit, agent_runtime* runtime,
                std::string workspace, caf::actor_addr owner)
    : asio_actor(config, unit),
      unit_(unit),
      runtime_(runtime),
      workspace_(std::move(workspace)),
      owner_(std::move(owner)) {}

  caf::behavior make_behavior() override {
    stay();
    runner_ = std::make_unique<agent_runner>(*runtime_, workspace_,
                                             [this](session_report_ptr report, std::size_t weight) {
                                               send_report(std::move(report), weight);
                                             });
    monitor(owner_);
    set_down_handler([this](caf::down_msg&) { stop(); });
    return {
      [this](begin_atom, const session_begin_ptr& what) { runner_->begin(what); },
      [this](answer_atom, const session_answer_ptr& what) { runner_->answer(*what); },
      [this](halt_atom, stop_force how) { runner_->halt(how); },
      [this](stop_atom) {
        stopping_.push_back(make_response_promise());
        stop();
        return stopping_.back();
      },
      [this](gone_atom) {
        answer_stopping();
        quit();
      },
    };
  }

  const char* name() const override { return "agent_session"; }

  void on_exit() override {
    runner_.reset(); // kills the tree if this end was not asked for
    answer_stopping();
    asio_actor::on_exit();
  }

private:
  void stop() {
    if (stop_called_)
      return;
    stop_called_ = true;
    runner_->stop([this] {
      context(unit_);
      send(caf::actor_cast<caf::actor>(this), gone_atom::value);
    });
  }

  void answer_stopping() {
    for (auto& promise : std::exchange(stopping_, {}))
      promise.deliver(true);
  }

  /// The owner is held weakly: it holds us.
  void send_report(session_report_ptr report, std::size_t weight) {
    const auto owner = caf::actor_cast<workspace_actor>(owner_);
    if (!owner)
      return; // its down message stops us
    context(unit_);
    const auto settle = [this, weight] {
      if (runner_)
        runner_->credit(weight);
    };
    request(owner, caf::infinite, report_atom::value, std::move(report))
      .then([settle](bool) { settle(); }, [settle](caf::error&) { settle(); });
  }

  asio_unit* unit_;
  agent_runtime* runtime_;
  std::string workspace_;
  caf::actor_addr owner_;
  std::unique_ptr<agent_runner> runner_;
  std::vector<caf::response_promise> stopping_;
  bool stop_called_ = false;
};

} // namespace

agent_session_actor spawn_agent_session(caf::actor_system& system, asio_unit& unit,
                                        agent_runtime& runtime, const std::string& workspace,
                                        const workspace_actor& owner) {
  const auto session = system.spawn<agent_session>(&unit, &runtime, workspace, owner.address());
  return caf::actor_cast<agent_session_actor>(session);
}

} // namespace tidemark
