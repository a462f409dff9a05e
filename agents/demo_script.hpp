#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// What a line of a prompt tells the demo agent to do; docs/demo-agent.md explains each word.
enum class demo_word {
  answer,
  tool,
  slow,
  overload,
  words,
  error,
  max_turns,
  limit,
  login,
  auth_fail,
  huge,
  noise,
  exit,
  signal,
  no_result,
  silent,
  stderr_bytes,
  ignore_term,
  deaf,
  late_init,
  orphan,
  env,
  echo,
  sha,
  utf8,
  ask,
  question,
  dialog,
  replay,
  split,
  background,
  pause,
  retry,
  result,
  half,
  config
};

/// One step of a script.
struct demo_step {
  demo_word word = demo_word::answer;
  std::string text;        ///< everything after the word
  std::int64_t number = 0; ///< the first number in `text`, or the word's default
  std::int64_t second = 0; ///< the second number in `text`, or 0
};

/// Reads a prompt as a script: a line that begins with a known word is a step, other lines are
/// ignored. A prompt without any step is answered with a short text. Pure.
std::vector<demo_step> parse_demo_script(std::string_view prompt);

/// One line a word: what it does. The text of `--help`.
std::string demo_script_help();

} // namespace tidemark
