#include "agents/demo_runner.hpp"

#include <csignal>
#include <unistd.h>

namespace tidemark {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds for_ever = std::chrono::hours(24);

std::vector<std::string> numbered_words(std::int64_t count) {
  std::vector<std::string> words;
  for (std::int64_t i = 0; i < count; ++i) {
    words.push_back("word" + std::to_string(i) + ' ');
  }
  return words;
}

void write_stderr(std::int64_t bytes) {
  std::string line(99, '.');
  line += '\n';
  while (bytes > 0) {
    const auto size = std::min<std::size_t>(line.size(), static_cast<std::size_t>(bytes));
    const ssize_t written = ::write(STDERR_FILENO, line.data(), size);
    if (written <= 0) {
      return;
    }
    bytes -= written;
  }
}

constexpr std::string_view noise = "Now using a version that nobody asked for\r\n"
                                   "\x1b]0;a terminal title\x07\n"
                                   "\n   \n[debug] socket ready\n"
                                   "[{\"type\":\"system\",\"subtype\":\"init\"}]\n42\nnull\n"
                                   "\xff\xfe not utf-8\n{\"type\":\"assistant\",\"mess\n";

constexpr std::string_view not_logged_in = "Invalid API key · Please run /login\n";

} // namespace

demo_runner::demo_runner(demo_arguments given, demo_session conversation, demo_protocol& lines,
                         demo_input& input, demo_output& output, std::string config_directory)
  : given_(std::move(given)),
    conversation_(std::move(conversation)),
    lines_(lines),
    input_(input),
    output_(output),
    config_directory_(std::move(config_directory)) {}

int demo_runner::run() {
  for (;;) {
    while (!tasks_.empty() && !input_.await_prompt(tasks_.front().due)) {
      finish_background();
    }
    const auto prompt = input_.next_prompt();
    if (!prompt) {
      return last_was_error_ ? 1 : 0;
    }
    run_once(*prompt);
    input_.end_turn();
  }
}

int demo_runner::run_once(const std::string& prompt) {
  run_turn(prompt);
  return last_was_error_ ? 1 : 0;
}

void demo_runner::run_turn(const std::string& prompt) {
  prompt_ = prompt;
  last_text_.clear();
  open_tool_.reset();
  begun_ = false;
  settled_ = false;
  lines_.begin_turn();
  conversation_.add_prompt(prompt);
  bool undisturbed = true;
  for (const demo_step& step : parse_demo_script(prompt)) {
    undisturbed = run_step(step) && !input_.interrupted();
    if (!undisturbed) {
      break;
    }
  }
  if (undisturbed && !settled_ && last_text_.empty()) {
    undisturbed = say({"Done."});
  }
  if (!settled_) {
    if (undisturbed) {
      settle({.text = last_text_});
    } else {
      settle_interrupted();
    }
  }
  output_.set_piece(0);
}

bool demo_runner::run_step(const demo_step& step) {
  switch (step.word) {
  case demo_word::pause: return input_.pause(milliseconds(step.number));
  case demo_word::split:
    output_.set_piece(static_cast<std::size_t>(std::max<std::int64_t>(1, step.number)));
    return true;
  case demo_word::stderr_bytes: write_stderr(step.number); return true;
  case demo_word::noise: print(noise); return true;
  case demo_word::deaf: input_.become_deaf(); return true;
  case demo_word::ignore_term:
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
      std::signal(number, SIG_IGN);
    }
    input_.become_deaf();
    return true;
  case demo_word::late_init:
    input_.lose_interrupts(true);
    input_.pause(milliseconds(step.number));
    begin();
    input_.lose_interrupts(false);
    return true;
  case demo_word::config: rewrite_config(step); return true;
  case demo_word::silent: input_.become_deaf(); return input_.pause(for_ever);
  case demo_word::exit:
  case demo_word::signal:
  case demo_word::half:
  case demo_word::auth_fail: run_fatal_step(step); return true;
  case demo_word::error:
  case demo_word::max_turns:
  case demo_word::limit:
  case demo_word::login:
  case demo_word::overload:
  case demo_word::result:
  case demo_word::no_result: return run_failing_step(step);
  default: return run_speaking_step(step);
  }
}

bool demo_runner::run_speaking_step(const demo_step& step) {
  switch (step.word) {
  case demo_word::tool: return run_command(step);
  case demo_word::slow:
    return say({"Hello", " from", " the demo agent, slowly."}, milliseconds(step.number / 2));
  case demo_word::words: return say(numbered_words(step.number), milliseconds(step.second));
  case demo_word::echo: return say({step.text});
  case demo_word::sha: return say({std::to_string(prompt_.size()), " ", demo_sha256(prompt_)});
  case demo_word::env:
    return say({describe_own_process().dump(-1, ' ', false, json::error_handler_t::replace)});
  case demo_word::utf8:
    output_.set_piece(1);
    return step.text.empty() ? say({"한글 ", "漢字 ", "🙂 ", "Grüße"}) : say({step.text});
  case demo_word::huge: {
    const auto size = static_cast<std::size_t>(step.number);
    const auto content = [size] { return tool_answer{std::string(size, 'A'), false}; };
    return call_tool("Read", json::object({{"file_path", "huge.bin"}}), false, content);
  }
  case demo_word::ask: return ask_permission(step);
  case demo_word::question: return ask_question(step);
  case demo_word::dialog: return show_dialog(step);
  case demo_word::replay: return replay(step);
  case demo_word::background: return start_background(step);
  case demo_word::retry:
    begin();
    print(lines_.api_retry(1, static_cast<double>(step.number)));
    return input_.pause(milliseconds(step.number));
  case demo_word::orphan: return orphans(step);
  default:
    return say(
      {"Hello", " from the demo agent,", " turn ", std::to_string(conversation_.turns()), "."});
  }
}

bool demo_runner::run_failing_step(const demo_step& step) {
  begin();
  switch (step.word) {
  case demo_word::error:
    settle({.subtype = "error_during_execution",
            .is_error = true,
            .errors = json::array({step.text}),
            .stop_reason = nullptr,
            .terminal_reason = "turn_setup_failed"});
    return true;
  case demo_word::max_turns: {
    const auto answer = [] { return tool_answer{"x", false}; };
    const bool undisturbed = call_tool("Read", json::object({{"file_path", "a"}}), false, answer);
    settle({.subtype = "error_max_turns",
            .is_error = true,
            .errors = json::array(),
            .stop_reason = "tool_use",
            .terminal_reason = "max_turns"});
    return undisturbed;
  }
  case demo_word::limit:
    print(lines_.rate_limit("rejected"));
    settle_error_text("You've hit your session limit · resets 8pm (UTC)", "rate_limit", 429);
    return true;
  case demo_word::login:
    settle_error_text("Not logged in · Please run /login", "authentication_failed", nullptr);
    return true;
  case demo_word::overload: return overload(step);
  case demo_word::result: settle({.text = last_text_}); return true;
  default:
    if (say({"All of it,", " but no result."})) {
      input_.become_deaf();
      input_.pause(for_ever);
    }
    return false;
  }
}

void demo_runner::run_fatal_step(const demo_step& step) {
  if (step.word == demo_word::auth_fail) {
    [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, not_logged_in.data(), not_logged_in.size());
    ::_exit(1);
  }
  if (step.word == demo_word::exit) {
    ::_exit(static_cast<int>(step.number));
  }
  if (step.word == demo_word::half) {
    begin();
    const std::string whole = lines_.result({.text = last_text_});
    print(std::string_view(whole).substr(0, whole.size() / 2));
  }
  std::signal(static_cast<int>(step.number), SIG_DFL);
  ::kill(::getpid(), static_cast<int>(step.number));
  ::pause();
}

void demo_runner::begin() {
  if (!begun_) {
    begun_ = true;
    if (given_.replay_user_messages) {
      print(lines_.replayed_prompt(prompt_));
    }
    print(lines_.init());
    print(lines_.status("requesting"));
  }
}

void demo_runner::print(std::string_view line) {
  output_.write(line);
}

void demo_runner::print_partial(std::string_view line) {
  if (given_.partial_messages) {
    output_.write(line);
  }
}

bool demo_runner::say(const std::vector<std::string>& pieces, milliseconds between) {
  begin();
  print_partial(lines_.message_start());
  const bool undisturbed = say_block(pieces, between);
  if (undisturbed) {
    print_partial(lines_.message_end("end_turn"));
  }
  return undisturbed;
}

bool demo_runner::say_block(const std::vector<std::string>& pieces, milliseconds between) {
  print_partial(lines_.block_start(json::object({{"type", "text"}, {"text", ""}})));
  last_text_.clear();
  bool undisturbed = !input_.interrupted();
  for (const std::string& piece : pieces) {
    if (!undisturbed) {
      break;
    }
    print_partial(lines_.delta(json::object({{"type", "text_delta"}, {"text", piece}})));
    last_text_ += piece;
    undisturbed = between.count() == 0 ? !input_.interrupted() : input_.pause(between);
  }
  // The real CLI too completes what it has said before it tells of the interrupt.
  if (!last_text_.empty()) {
    print(lines_.assistant(json::object({{"type", "text"}, {"text", last_text_}})));
  }
  if (undisturbed) {
    print_partial(lines_.block_stop());
  }
  return undisturbed;
}

void demo_runner::settle(demo_ending how) {
  begin();
  settled_ = true;
  last_was_error_ = how.is_error;
  conversation_.add_answer(how.text);
  print(lines_.result(how));
}

void demo_runner::settle_error_text(const std::string& text, const std::string& kind,
                                    const json& status) {
  print(lines_.synthetic(text, kind));
  settle({.is_error = true,
          .text = text,
          .api_error_status = status,
          .stop_reason = "stop_sequence",
          .terminal_reason = "api_error"});
}

void demo_runner::settle_interrupted() {
  begin();
  if (open_tool_) {
    print(lines_.tool_result(*open_tool_, "The user doesn't want to proceed with this tool use.",
                             true));
    print(lines_.user_text("[Request interrupted by user for tool use]"));
  } else {
    print(lines_.user_text("[Request interrupted by user]"));
  }
  settle({.subtype = "error_during_execution",
          .is_error = true,
          .errors = json::array(),
          .stop_reason = nullptr,
          .terminal_reason = open_tool_ ? "aborted_tools" : "aborted_streaming"});
}

} // namespace tidemark
