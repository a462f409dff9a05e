#include "actors/agent_runner.hpp"

#include "base/logging.hpp"

#include <csignal>

namespace tidemark {
namespace {

/// The guard needs milliseconds, and one that does not act is killed (child::guard_limit): only the
/// kernel can still be in the way.
constexpr std::chrono::seconds abandon_limit{15};

} // namespace

void agent_runner::halt(stop_force how) {
  if (next_)
    return end_waiting(outcome::cancelled,
                       {"TASK_CANCELLED", "stopped before the agent had started"});
  if (!turn_ || !process_)
    return;
  force(outcome::cancelled, "TASK_CANCELLED", "the turn was stopped");
  if (how == stop_force::kill)
    return kill("cancel");
  if (stage_ != stage::none)
    return;
  stage_ = stage::interrupting;
  process_->write(adapter_->interrupt());
  ladder_.start(runtime_.options.interrupt_grace, [this] {
    runtime_.metrics.agent_killed("interrupt");
    close_input();
  });
}

void agent_runner::stop(std::function<void()> gone) {
  gone_ = std::move(gone);
  if (next_)
    end_waiting(outcome::interrupted, {"INTERRUPTED", "the agent was stopped"});
  if (!process_)
    return gone_();
  force(outcome::interrupted, "INTERRUPTED", "the agent was stopped");
  kill("shutdown");
}

void agent_runner::give_way() {
  end_process("evicted");
}

/// The first reason stays: what comes after only makes it quicker.
void agent_runner::force(outcome how, std::string code, std::string message) {
  if (turn_ && !turn_->forced)
    turn_->forced = forced_end{how, {std::move(code), std::move(message)}};
}

/// Ends a process that no turn runs in, giving it time to leave by itself.
void agent_runner::end_process(const char* reason) {
  if (!process_ || stage_ != stage::none)
    return;
  runtime_.metrics.agent_killed(reason);
  close_input();
}

void agent_runner::close_input() {
  stage_ = stage::input_closed;
  idle_.cancel();
  process_->close_stdin();
  ladder_.start(runtime_.options.kill_grace, [this] { terminate(); });
}

void agent_runner::terminate() {
  stage_ = stage::terminated;
  process_->signal(SIGTERM);
  ladder_.start(runtime_.options.kill_grace, [this] { kill(nullptr); });
}

/// `reason` is null where the stop was counted already.
void agent_runner::kill(const char* reason) {
  if (stage_ == stage::killed)
    return;
  if (reason)
    runtime_.metrics.agent_killed(reason);
  pause(false);
  stage_ = stage::killed;
  idle_.cancel();
  process_->kill_tree();
  ladder_.start(abandon_limit, [this] { abandon(); });
}

void agent_runner::abandon() {
  logging::error("agent", "{}: process {} does not end; it is left to the system", workspace_,
                 process_->pid());
  on_exit({-1, SIGKILL});
}

void agent_runner::on_silence() {
  if (!turn_ || !process_)
    return;
  // The agent waits for us: for a decision, or for the log.
  if (!open_asks_.empty() || paused_)
    return watch_silence();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(silent_at_ - clock::now());
  if (left.count() > 0)
    return silence_.start(left, [this] { on_silence(); });
  const auto limit =
    std::chrono::duration_cast<std::chrono::seconds>(runtime_.options.silence_limit);
  force(outcome::failed, "AGENT_SILENT",
        "the agent has said nothing for " + std::to_string(limit.count()) + " s and was ended");
  kill("silence");
}

/// It usually ends right after. One that does not will never say how its turn ends, nor hear the next.
void agent_runner::on_stdout_end() {
  mute_.start(runtime_.options.kill_grace, [this] {
    force(outcome::failed, "NO_RESULT",
          "the agent closed its output without a result and lived on");
    kill("mute");
  });
}

/// A process kept from the turn before may be stuck in its end: it would let the new turn wait for the
/// whole silence limit.
void agent_runner::watch_hearing() {
  deaf_.start(runtime_.options.kill_grace,
              [this, unread = process_->unread_input()] { on_hearing_due(unread); });
}

void agent_runner::on_hearing_due(std::size_t unread_before) {
  if (!turn_ || turn_->heard || !process_ || stage_ != stage::none)
    return;
  const auto unread = process_->unread_input();
  if (unread == 0)
    return;
  if (unread < unread_before || paused_)
    return watch_hearing();
  replace_deaf();
}

/// It has not read the end of the prompt, so nothing of the turn has been done: another process may
/// do it.
void agent_runner::replace_deaf() {
  logging::warning("agent", "{}: process {} does not read its prompt and is replaced", workspace_,
                   process_->pid());
  take_back_turn();
  kill("deaf");
}

/// For another process; on_exit goes on with launch().
void agent_runner::take_back_turn() {
  next_ = std::move(turn_->begin);
  turn_.reset();
  silence_.cancel();
}

} // namespace tidemark
