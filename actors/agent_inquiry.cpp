#include "actors/agent_inquiry.hpp"

#include "actors/agent_launch.hpp"
#include "base/json.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

namespace tidemark {
namespace {

/// Not a workspace id, so it cannot meet a workspace's directory.
constexpr auto probe_directory = ".probe";
constexpr auto prompt = "Reply with the word ok.";

/// `2.1.197 (Claude Code)` -> `2.1.197`; anything else as its first line, bounded.
std::string version_in(std::string_view output) {
  std::string line = repair_utf8(output.substr(0, output.find('\n')));
  if (!line.empty() && std::isdigit(static_cast<unsigned char>(line.front())))
    return line.substr(0, line.find(' '));
  return line.substr(0, 100);
}

} // namespace

agent_inquiry::agent_inquiry(agent_runtime& runtime, std::function<void(probe_result)> done)
  : runtime_(runtime),
    done_(std::move(done)),
    step_(runtime.io.get_executor()),
    whole_(runtime.io.get_executor()),
    finish_(runtime.io.get_executor()) {}

void agent_inquiry::start() {
  whole_.start(runtime_.options.probe_limit,
               [this] { give_up("the agent did not name its tools in time"); });
  plan_ = plan();
  if (plan_)
    ask_version();
}

void agent_inquiry::give_up(const std::string& problem) {
  if (result_.problem.empty())
    result_.problem = problem;
  finish();
}

/// Later, because the caller may be one of the process's own callbacks.
void agent_inquiry::finish() {
  if (std::exchange(finished_, true))
    return;
  step_.cancel();
  whole_.cancel();
  finish_.start(std::chrono::milliseconds{0}, [this] {
    process_.reset();
    done_(std::move(result_));
  });
}

std::optional<launch_plan> agent_inquiry::plan() {
  const auto& options = runtime_.options;
  agent_options own = options;
  own.workspace_root = options.state_directory;
  std::error_code failed;
  std::filesystem::create_directories(
    std::filesystem::path{options.state_directory} / probe_directory, failed);
  session_begin begin;
  begin.rights = options.rights;
  const auto inputs = gather_inputs(own, probe_directory, begin);
  if (!inputs) {
    give_up(inputs.error().message);
    return std::nullopt;
  }
  auto made = runtime_.plan(*inputs);
  if (!made) {
    give_up(made.error().describe());
    return std::nullopt;
  }
  return std::move(*made);
}

bool agent_inquiry::run(child_options options, child::callbacks events) {
  auto started = child::spawn(runtime_.io, std::move(options), std::move(events));
  if (!started) {
    give_up("the agent could not be started: " + started.error().describe());
    return false;
  }
  process_ = std::move(*started);
  return true;
}

void agent_inquiry::ask_version() {
  auto options = to_child(runtime_.options, *plan_);
  options.argv = {plan_->argv.front(), "--version"};
  child::callbacks events;
  events.on_stdout = [this](std::string_view bytes) {
    output_ += bytes.substr(0, max_version_bytes - std::min(output_.size(), max_version_bytes));
    if (output_.size() == max_version_bytes)
      process_->kill_tree();
  };
  events.on_exit = [this](child_exit how) { on_version(how); };
  if (!run(std::move(options), std::move(events)))
    return;
  process_->close_stdin();
  step_.start(version_limit, [this] { process_->kill_tree(); });
}

void agent_inquiry::on_version(child_exit how) {
  if (finished_)
    return;
  step_.cancel();
  if (how.code != 0)
    return give_up("\"" + plan_->argv.front() + " --version\" "
                   + (how.signal ? "did not answer properly in time"
                                 : "ended with code " + std::to_string(how.code)));
  result_.available = true;
  result_.agent_version = version_in(output_);
  ask_tools();
}

void agent_inquiry::ask_tools() {
  adapter_ = runtime_.make_adapter({});
  framer_.emplace(runtime_.options.max_line_bytes);
  child::callbacks events;
  events.on_stdout = [this](std::string_view bytes) { on_output(bytes); };
  events.on_exit = [this](child_exit) { give_up("the agent ended before it named its tools"); };
  auto previous = std::move(process_); // whose callback this is
  if (run(to_child(runtime_.options, *plan_), std::move(events)))
    process_->write(adapter_->begin_turn(prompt));
}

void agent_inquiry::on_output(std::string_view bytes) {
  framer_->feed(bytes, [this](std::string_view line, bool truncated, std::uint64_t full_size) {
    if (finished_)
      return;
    auto out = adapter_->on_line(line, truncated, full_size);
    if (!out.tools)
      return;
    result_.tools = std::move(out.tools);
    process_->kill_tree();
    finish();
  });
}

} // namespace tidemark
