#include "actors/agent_runner.hpp"

#include "base/json.hpp"
#include "base/logging.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tidemark {
namespace {

/// Of a report without output, so that a flood of them is held back too.
constexpr std::size_t least_weight = 256;

/// Of a turn: enough to see what is wrong with the agent.
constexpr std::size_t most_noise = 1000;

bool is_noise(const agent_event& event) {
  return event.type == "agent.noise";
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

template <class T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

bool says_something(const session_report& report) {
  return report.started || !report.events.empty() || !report.asks.empty()
         || !report.withdrawn.empty() || report.end || report.exit || report.session
         || report.tools;
}

} // namespace

void agent_runner::on_stdout(std::string_view bytes) {
  unflushed_ += bytes.size();
  if (turn_)
    turn_->heard = true;
  framer_->feed(bytes, [this](std::string_view line, bool truncated, std::uint64_t full_size) {
    on_line(line, truncated, full_size);
  });
  flush();
}

void agent_runner::on_line(std::string_view line, bool truncated, std::uint64_t full_size) {
  runtime_.metrics.agent_line(full_size);
  auto out = adapter_->on_line(line, truncated, full_size);
  // Rubbish is no sign of life: an agent that prints nothing else must come to an end.
  if (!is_blank(line) && std::ranges::none_of(out.events, is_noise))
    silent_at_ = clock::now() + runtime_.options.silence_limit;
  absorb(std::move(out));
}

/// The log takes the first of them; a flood is counted only.
void agent_runner::limit_noise(std::vector<agent_event>& events) {
  const auto lines = std::ranges::count_if(events, is_noise);
  if (lines == 0)
    return;
  const bool said = noise_ > most_noise;
  for (auto i = lines; i > 0; --i)
    runtime_.metrics.agent_noise();
  noise_ += static_cast<std::size_t>(lines);
  if (noise_ <= most_noise)
    return;
  std::erase_if(events, is_noise);
  if (said)
    return;
  json data = {{"code", "noise_suppressed"},
               {"text", "the agent prints lines that are not its protocol; no more of them are "
                        "kept in this turn"}};
  events.push_back({"agent.notice", std::move(data)});
}

void agent_runner::absorb(adapter_output out) {
  if (process_ && !out.replies.empty())
    process_->write(std::move(out.replies));
  silent_at_ += out.quiet_for;
  limit_noise(out.events);
  deltas_.apply(secrets_, out.events);
  if (out.end || !process_)
    deltas_.finish(secrets_, out.events);
  for (const auto& ask : out.asks)
    open_asks_.insert(ask.id);
  for (const auto& id : out.withdrawn)
    open_asks_.erase(id);
  append(report_.events, std::move(out.events));
  append(report_.asks, std::move(out.asks));
  append(report_.withdrawn, std::move(out.withdrawn));
  const bool ready = out.session || out.tools;
  if (out.session) {
    note_conversation(*out.session);
    report_.session = std::move(out.session);
  }
  if (out.tools)
    report_.tools = std::move(out.tools);
  if (turn_ && out.interrupt_acknowledged)
    turn_->acknowledged = true;
  if (turn_ && ready)
    on_ready();
  if (turn_ && out.end)
    end_turn(std::move(*out.end));
}

void agent_runner::note_conversation(const std::string& now) {
  if (!turn_ && !conversation_.empty() && conversation_ != now) {
    left_ = left_for_ == conversation_ ? left_ : conversation_;
    left_for_ = now;
  }
  conversation_ = now;
}

/// An interrupt that comes before the agent listens is lost: said again once it does.
void agent_runner::on_ready() {
  const bool first = !turn_->ready;
  turn_->ready = true;
  if (first && process_ && stage_ == stage::interrupting && !turn_->acknowledged)
    process_->write(adapter_->interrupt());
}

void agent_runner::end_turn(turn_result end) {
  const auto turn = turn_->begin->turn;
  const auto& used = end.usage;
  runtime_.metrics.usage(secrets_.apply(end.model), used.input, used.output, used.cache_read,
                         used.cache_write, end.cost_usd);
  report_.end = std::move(end);
  turn_.reset();
  open_asks_.clear();
  silence_.cancel();
  deaf_.cancel();
  flush(turn);
  if (stage_ == stage::interrupting) { // it worked in-band: the process may stay
    stage_ = stage::none;
    ladder_.cancel();
  }
  if (!process_ || stage_ != stage::none)
    return;
  idle_.start(runtime_.options.idle_limit, [this] { end_process("idle"); });
  runtime_.pool.idle(*this);
}

/// A process kept from the turn before was on its way out when it got the prompt. An agent that begins
/// says so before it does anything; if it is the prompt that ends it without a word, then so it
/// does with the new process, which is no kept one.
bool agent_runner::was_ending() const {
  return turn_ && turn_->kept && !turn_->heard && !turn_->forced && stage_ == stage::none;
}

void agent_runner::on_exit(child_exit how) {
  logging::info("agent", "{}: process {} ended, code {}, signal {}", workspace_, process_->pid(),
                how.code, how.signal);
  const exit_status status{how.code, how.signal};
  if (was_ending())
    take_back_turn();
  framer_->finish([this](std::string_view line, bool truncated, std::uint64_t full_size) {
    on_line(line, truncated, full_size);
  });
  auto out = adapter_->on_exit(status, tail_.text(secrets_));
  if (turn_ && !out.end) {
    out.end.emplace();
    out.end->why = turn_error{"AGENT_DIED", "the agent ended without a result"};
  }
  if (turn_ && turn_->forced) {
    out.end->how = turn_->forced->how;
    out.end->why = turn_->forced->why;
  }
  release_process();
  flush(); // what the last lines brought, before the exit
  report_.exit = status;
  absorb(std::move(out));
  flush();
  if (gone_)
    return gone_();
  if (next_)
    launch();
}

void agent_runner::release_process() {
  ladder_.cancel();
  idle_.cancel();
  mute_.cancel();
  deaf_.cancel();
  stage_ = stage::none;
  paused_ = false;
  conversation_.clear();
  if (!process_)
    return;
  process_.reset();
  runtime_.pool.left(*this);
  runtime_.metrics.agents_live(-1);
}

void agent_runner::flush(const std::string& turn) {
  if (!says_something(report_))
    return;
  report_.turn = turn;
  mask_secrets(secrets_, report_);
  const auto weight = unflushed_ + least_weight;
  unflushed_ = 0;
  outstanding_ += weight;
  sink_(std::make_shared<const session_report>(std::exchange(report_, {})), weight);
  if (outstanding_ > runtime_.options.max_unsynced_bytes)
    pause(true);
}

void agent_runner::credit(std::size_t weight) {
  outstanding_ -= std::min(weight, outstanding_);
  if (outstanding_ <= runtime_.options.max_unsynced_bytes / 2)
    pause(false);
}

void agent_runner::pause(bool paused) {
  // What a killed agent leaves in its pipe is little, and its end must not wait for the log.
  if (paused == paused_ || !process_ || (paused && stage_ == stage::killed))
    return;
  paused_ = paused;
  process_->pause_output(paused);
  if (!paused && turn_)
    watch_silence();
}

/// Lines only move the moment on; the timer itself is set anew once it has passed.
void agent_runner::watch_silence() {
  silent_at_ = clock::now() + runtime_.options.silence_limit;
  silence_.start(runtime_.options.silence_limit, [this] { on_silence(); });
}

} // namespace tidemark
