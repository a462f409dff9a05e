#include "actors/agent_session.hpp"

#include "actors/agent_runner.hpp"
#include "actors/turn_files.hpp"
#include "base/logging.hpp"

#include <caf/response_promise.hpp>

#include <deque>
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
    files_ = std::make_unique<turn_files>(*runtime_, workspace_);
    monitor(owner_);
    set_down_handler([this](caf::down_msg&) { stop(); });
    return {
      [this](begin_atom, const session_begin_ptr& what) { begin(what); },
      [this](answer_atom, const session_answer_ptr& what) { runner_->answer(*what); },
      [this](halt_atom, stop_force how) { halt(how); },
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
    files_.reset();
    runner_.reset(); // kills the tree if this end was not asked for
    answer_stopping();
    asio_actor::on_exit();
  }

private:
  /// The turn begins once the files are recorded as it finds them.
  void begin(const session_begin_ptr& what) {
    if (!files_->wanted() || preparing_ || stop_called_)
      return runner_->begin(what);
    preparing_ = what;
    files_->before(what->turn, [this] {
      if (preparing_)
        runner_->begin(std::exchange(preparing_, nullptr));
    });
  }

  void halt(stop_force how) {
    if (preparing_)
      end_preparing(outcome::cancelled, {"TASK_CANCELLED", "stopped before the agent had started"});
    else
      runner_->halt(how);
  }

  void end_preparing(outcome how, turn_error why) {
    session_report report;
    report.turn = std::exchange(preparing_, nullptr)->turn;
    report.end.emplace();
    report.end->how = how;
    report.end->why = std::move(why);
    deliver(std::make_shared<const session_report>(std::move(report)), 0);
  }

  void stop() {
    if (stop_called_)
      return;
    stop_called_ = true;
    if (preparing_)
      end_preparing(outcome::interrupted, {"INTERRUPTED", "the agent was stopped"});
    release();
    runner_->stop([this] {
      context(unit_);
      send(caf::actor_cast<caf::actor>(this), gone_atom::value);
    });
  }

  void answer_stopping() {
    for (auto& promise : std::exchange(stopping_, {}))
      promise.deliver(true);
  }

  /// A turn's end waits until it is known what the turn changed, and what follows waits behind it.
  void send_report(session_report_ptr report, std::size_t weight) {
    if (!held_.empty()) {
      held_.emplace_back(std::move(report), weight);
      return;
    }
    if (!report->end || !files_->wanted() || stop_called_)
      return deliver(std::move(report), weight);
    held_.emplace_back(std::move(report), weight);
    files_->after([this](std::optional<agent_event> changes) {
      if (held_.empty())
        return; // nobody could wait any longer
      if (changes) {
        auto told = *held_.front().first;
        told.events.push_back(std::move(*changes));
        held_.front().first = std::make_shared<const session_report>(std::move(told));
      }
      release();
    });
  }

  void release() {
    for (auto& [report, weight] : std::exchange(held_, {}))
      deliver(std::move(report), weight);
  }

  /// The owner is held weakly: it holds us.
  void deliver(session_report_ptr report, std::size_t weight) {
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
  std::unique_ptr<turn_files> files_;
  session_begin_ptr preparing_; ///< begun, waits for the record of the files
  std::deque<std::pair<session_report_ptr, std::size_t>> held_; ///< the first one ends a turn
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
