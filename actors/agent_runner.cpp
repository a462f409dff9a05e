#include "actors/agent_runner.hpp"

#include "base/logging.hpp"

#include <utility>

namespace tidemark {

agent_runner::agent_runner(agent_runtime& runtime, std::string workspace, report_sink sink)
  : runtime_(runtime),
    workspace_(std::move(workspace)),
    sink_(std::move(sink)),
    tail_(runtime.options.max_stderr_tail),
    ladder_(runtime.io.get_executor()),
    idle_(runtime.io.get_executor()),
    room_(runtime.io.get_executor()),
    silence_(runtime.io.get_executor()),
    mute_(runtime.io.get_executor()),
    deaf_(runtime.io.get_executor()) {}

agent_runner::~agent_runner() {
  stop_waiting();
  release_process();
}

void agent_runner::begin(session_begin_ptr what) {
  if (turn_ || next_ || gone_) {
    logging::error("agent", "{}: turn {} was begun while another one runs", workspace_, what->turn);
    session_report refusal;
    refusal.turn = what->turn;
    refusal.end.emplace();
    refusal.end->why = turn_error{"INTERNAL_ERROR", "the agent's session is busy or stopping"};
    sink_(std::make_shared<const session_report>(std::move(refusal)), 0);
    return;
  }
  begun_ = clock::now();
  next_ = in_its_conversation(std::move(what));
  if (!process_)
    return launch();
  const auto plan = plan_for(*next_);
  if (!plan)
    return end_waiting(outcome::failed,
                       {plan.error().code, plan.error().message, plan.error().retryable});
  if (fits(*plan)) {
    start_turn("warm");
    turn_->kept = true;
    return watch_hearing();
  }
  end_process("changed"); // on_exit goes on with launch()
}

/// The turn was queued before its workspace heard that the agent had begun a new conversation.
session_begin_ptr agent_runner::in_its_conversation(session_begin_ptr what) {
  const auto left = std::exchange(left_, {});
  const auto left_for = std::exchange(left_for_, {});
  if (left.empty() || what->resume != left)
    return what;
  auto moved = *what;
  moved.resume = left_for;
  return std::make_shared<const session_begin>(std::move(moved));
}

bool agent_runner::fits(const launch_plan& plan) const {
  return stage_ == stage::none && fingerprint_ == plan.fingerprint && !conversation_.empty()
         && conversation_ == next_->resume;
}

tl::expected<launch_plan, launch_problem> agent_runner::plan_for(const session_begin& what) const {
  auto inputs = gather_inputs(runtime_.options, workspace_, what);
  if (!inputs)
    return tl::make_unexpected(std::move(inputs.error()));
  auto plan = runtime_.plan(*inputs);
  if (!plan)
    return tl::make_unexpected(launch_problem{"SETTINGS_INVALID", plan.error().describe()});
  plan->fingerprint += "@" + directory_identity(plan->cwd);
  return std::move(*plan);
}

void agent_runner::launch() {
  const auto plan = plan_for(*next_);
  if (!plan)
    return end_waiting(outcome::failed,
                       {plan.error().code, plan.error().message, plan.error().retryable});
  auto known = plan->secrets;
  known.insert(known.end(), runtime_.options.server_secrets.begin(),
               runtime_.options.server_secrets.end());
  secrets_ = redactor{known};
  deltas_ = {};
  if (!runtime_.pool.admit(*this))
    return;
  if (spawn(*plan))
    start_turn(next_->resume.empty() ? "cold" : "resume");
}

bool agent_runner::spawn(const launch_plan& plan) {
  child::callbacks events;
  events.on_stdout = [this](std::string_view bytes) { on_stdout(bytes); };
  events.on_stderr = [this](std::string_view bytes) { tail_.add(bytes); };
  events.on_stdout_end = [this] { on_stdout_end(); };
  events.on_exit = [this](child_exit how) { on_exit(how); };
  auto started = child::spawn(runtime_.io, to_child(runtime_.options, plan), std::move(events));
  if (!started) {
    runtime_.pool.withdraw(*this);
    runtime_.metrics.agent_spawn_failed();
    const auto problem = explain_spawn(started.error(), plan);
    logging::warning("agent", "{}: {}", workspace_, problem.message);
    end_waiting(outcome::failed, {problem.code, problem.message, problem.retryable});
    return false;
  }
  process_ = std::move(*started);
  adapter_ = runtime_.make_adapter(next_->resume);
  framer_.emplace(runtime_.options.max_line_bytes);
  fingerprint_ = plan.fingerprint;
  runtime_.pool.entered(*this);
  runtime_.metrics.agents_live(1);
  logging::info("agent", "{}: started process {}", workspace_, process_->pid());
  return true;
}

void agent_runner::start_turn(const char* how) {
  turn_.emplace();
  turn_->begin = std::move(next_);
  tail_.clear();
  noise_ = 0;
  idle_.cancel();
  runtime_.pool.busy(*this);
  process_->write(adapter_->begin_turn(turn_->begin->prompt));
  runtime_.metrics.agent_turn_start(how, clock::now() - begun_);
  watch_silence();
  report_.started = session_started{runtime_.options.kind, runtime_.version, process_->pid(), how};
  flush();
}

void agent_runner::room_made() {
  room_.start(std::chrono::milliseconds{0}, [this] {
    if (next_ && !process_)
      launch();
  });
}

void agent_runner::stop_waiting() {
  room_.cancel();
  runtime_.pool.withdraw(*this);
}

/// The waiting turn ends before it came to run.
void agent_runner::end_waiting(outcome how, turn_error why) {
  const auto turn = next_->turn;
  next_.reset();
  stop_waiting();
  why.message = secrets_.apply(why.message);
  report_.end.emplace();
  report_.end->how = how;
  report_.end->why = std::move(why);
  flush(turn);
}

void agent_runner::answer(const session_answer& what) {
  open_asks_.erase(what.permission);
  if (!process_)
    return;
  auto bytes = what.answers.is_object()
                 ? adapter_->answer_question(what.permission, what.answers)
                 : adapter_->answer(what.permission, what.what, what.message);
  if (!bytes.empty())
    process_->write(std::move(bytes));
  watch_silence();
}

} // namespace tidemark
