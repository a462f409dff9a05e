#pragma once

#include "actors/agent_runner.hpp"
#include "base/logging.hpp"
#include "tests/process/running_child.hpp"

#include <filesystem>

namespace tidemark::testing {

/// A protocol of one word a line, so that a shell script can be the agent:
/// `init ID`, `text …`, `delta ITEM|…`, `done ITEM|…`, `end …`, `failed …`, `lost`, `ack`, `ask ID`, `quiet MS`; all else is noise.
/// It hears `prompt …`, `interrupt` and `answer ID allow|deny`.
class word_adapter final : public adapter {
public:
  std::string begin_turn(std::string_view prompt) override {
    running_ = true;
    return "prompt " + std::string{prompt} + "\n";
  }
  adapter_output on_line(std::string_view line, bool, std::uint64_t) override {
    adapter_output out;
    const auto space = line.find(' ');
    const auto word = line.substr(0, space);
    const auto rest = std::string{space == std::string_view::npos ? "" : line.substr(space + 1)};
    if (word == "init") {
      out.session = rest;
      out.tools = std::vector<std::string>{"Read", "Write"};
    } else if (word == "end") {
      out.end = finish(outcome::succeeded, rest);
    } else if (word == "failed") {
      out.end = finish(outcome::failed, rest);
    } else if (word == "lost") {
      out.end = finish(outcome::failed, rest);
      out.end->session_lost = true;
    } else if (word == "ack") {
      out.interrupt_acknowledged = true;
    } else if (word == "ask") {
      out.asks.push_back({rest, "Bash", json::object()});
    } else if (word == "quiet") {
      out.quiet_for = std::chrono::milliseconds{std::stol(rest)};
    } else if (word == "delta" || word == "done") {
      const auto bar = rest.find('|');
      const auto item = rest.substr(0, bar);
      const auto said = rest.substr(bar + 1);
      json data = {{"item", item}, {"text", said}};
      if (word == "done") {
        json whole = {{"id", item}, {"text", said}};
        data = json::object({{"item", std::move(whole)}});
      }
      out.events.push_back({word == "done" ? "item.completed" : "item.delta", std::move(data),
                            std::make_shared<const std::string>(line)});
    } else if (!word.empty()) {
      json data = json::object();
      data["text"] = rest;
      out.events.push_back({word == "text" ? "item.completed" : "agent.noise", data,
                            std::make_shared<const std::string>(line)});
    }
    return out;
  }
  adapter_output on_exit(exit_status how, std::string_view tail) override {
    adapter_output out;
    if (running_) {
      out.end = finish(outcome::failed, "");
      out.end->why = turn_error{"DIED", "code " + std::to_string(how.code) + " signal "
                                          + std::to_string(how.signal) + ": " + std::string{tail}};
    }
    return out;
  }
  std::string interrupt() override { return "interrupt\n"; }
  std::string answer(std::string_view id, decision d, std::string_view) override {
    return "answer " + std::string{id} + (d == decision::allow ? " allow\n" : " deny\n");
  }
  std::string answer_question(std::string_view id, const json& answers) override {
    return "answers " + std::string{id} + " " + dump_json(answers) + "\n";
  }
  adapter_output abandon_turn() override { return {}; }
  [[nodiscard]] std::size_t open_tasks() const override { return 0; }

private:
  turn_result finish(outcome how, const std::string& text) {
    running_ = false;
    turn_result end;
    end.how = how;
    end.text = text;
    if (how != outcome::succeeded)
      end.why = turn_error{"FAILED", text.empty() ? "failed" : text};
    return end;
  }
  bool running_ = false;
};

/// An agent that answers each prompt and obeys interrupts.
inline constexpr auto obedient = R"sh(
  n=0
  while read -r word rest; do
    case $word in
      prompt) n=$((n+1)); echo "init s1"; echo "text $$ turn $n"; [ "$rest" = wait ] || echo "end $rest";;
      interrupt) echo ack; echo "failed interrupted";;
      answer) echo "end $rest";;
    esac
  done
)sh";

/// One runner on the test's thread.
struct runner_fixture {
  scratch directory;
  boost::asio::io_context io;
  instruments metrics{"test"};
  std::string script = obedient;
  std::string fingerprint = "one";
  std::vector<std::string> secrets;
  std::map<std::string, std::string> environment;
  launch_inputs planned; ///< what the last plan was made from
  agent_runtime runtime;
  std::vector<session_report_ptr> reports;
  std::vector<std::size_t> weights;
  bool give_credit = true;
  std::unique_ptr<agent_runner> runner;

  runner_fixture() : runtime(make_runtime()) {
    logging::set_level(logging::level::error);
    std::filesystem::create_directories(directory / "work/w1");
    add_runner("w1");
  }

  agent_runtime make_runtime() {
    agent_options options;
    options.kind = "demo";
    options.binary = "sh";
    options.guard = guard_path();
    options.workspace_root = directory / "work";
    options.state_directory = directory / "state";
    options.instance = "test";
    options.interrupt_grace = 300ms;
    options.kill_grace = 100ms;
    return {io, options, metrics, [](std::string_view) { return std::make_unique<word_adapter>(); },
            [this](const launch_inputs& inputs) { return plan(inputs); }};
  }

  expected<launch_plan> plan(const launch_inputs& inputs) {
    planned = inputs;
    if (script.empty())
      return fail(errc::invalid_argument, "settings.json: not an object");
    launch_plan made;
    made.argv = {inputs.binary, "-c", script};
    made.environment = environment;
    made.environment["PATH"] = "/usr/bin:/bin";
    made.cwd = inputs.workspace_directory;
    made.fingerprint = fingerprint;
    made.secrets = secrets;
    return made;
  }

  void add_runner(const std::string& workspace) {
    runner = std::make_unique<agent_runner>(
      runtime, workspace, [this](session_report_ptr report, std::size_t weight) {
        reports.push_back(std::move(report));
        weights.push_back(weight);
        if (give_credit)
          boost::asio::post(io, [this, weight] { runner->credit(weight); });
      });
  }

  void begin(const std::string& turn, const std::string& prompt = "hello",
             const std::string& resume = "") {
    session_begin what;
    what.turn = turn;
    what.prompt = prompt;
    what.resume = resume;
    runner->begin(std::make_shared<const session_begin>(std::move(what)));
  }

  bool until(const std::function<bool()>& holds, std::chrono::milliseconds limit = 15s) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end)
        return false;
      io.restart();
      io.run_one_for(10ms);
    }
    return true;
  }
  void settle(std::chrono::milliseconds time) {
    until([] { return false; }, time);
  }

  std::vector<turn_result> ends(const std::string& turn) const {
    std::vector<turn_result> found;
    for (const auto& report : reports)
      if (report->turn == turn && report->end)
        found.push_back(*report->end);
    return found;
  }
  bool ended(const std::string& turn) {
    return until([&] { return !ends(turn).empty(); });
  }
  std::optional<session_started> started(const std::string& turn) const {
    for (const auto& report : reports)
      if (report->turn == turn && report->started)
        return report->started;
    return std::nullopt;
  }
  std::vector<std::string> texts(const std::string& turn) const {
    std::vector<std::string> found;
    for (const auto& report : reports)
      for (const auto& event : report->events)
        if (report->turn == turn)
          found.push_back(string_or(event.data, "text"));
    return found;
  }
  bool says(const std::string& turn, const std::string& text) {
    return until([&] {
      const auto all = texts(turn);
      return std::find(all.begin(), all.end(), text) != all.end();
    });
  }
  bool exited() {
    return until([&] {
      return std::any_of(reports.begin(), reports.end(),
                         [](const auto& r) { return r->exit.has_value(); });
    });
  }
};

} // namespace tidemark::testing
