// Any prompt is a script and any command line is understood or refused in words.
#include "agents/demo_arguments.hpp"
#include "agents/demo_script.hpp"
#include "tests/fuzz/fuzz_input.hpp"

using namespace tidemark;
using tidemark::fuzz::require;

namespace {

bool is_answer(const std::vector<demo_step>& steps) {
  return steps.size() == 1 && steps[0].word == demo_word::answer;
}

void check_script(std::string_view prompt) {
  const auto steps = parse_demo_script(prompt);
  const auto lines = static_cast<std::size_t>(std::count(prompt.begin(), prompt.end(), '\n')) + 1;
  require(!steps.empty() && steps.size() <= lines, "a line is at most one step");
  for (const auto& step : steps) {
    require(step.number >= 0 && step.second >= 0, "no number is below 0");
    require(step.text.find('\n') == step.text.npos, "a step is one line");
    require(step.text.empty() || prompt.find(step.text) != prompt.npos, "its text is the prompt's");
  }
  if (is_answer(steps))
    return;
  const auto twice = parse_demo_script(std::string{prompt} + "\n" + std::string{prompt});
  require(twice.size() == 2 * steps.size(), "every line is read on its own");
}

void check_arguments(std::string_view text) {
  std::vector<std::string> argv;
  for (fuzz::input lines{text}; !lines.empty();)
    argv.emplace_back(lines.line());
  const auto read = parse_demo_arguments(argv);
  if (!read)
    return require(read.error().message.starts_with("error: "), "a refusal says why");
  for (const auto& tool : offered_tools(*read))
    require(std::find(read->disallowed.begin(), read->disallowed.end(), tool)
              == read->disallowed.end(),
            "no disallowed tool is offered", tool);
  for (const auto& name : unknown_disallowed(*read))
    require(std::find(read->disallowed.begin(), read->disallowed.end(), name)
              != read->disallowed.end(),
            "only what was disallowed can be unknown", name);
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  check_script(text);
  check_arguments(text);
  return 0;
}
