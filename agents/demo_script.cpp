#include "agents/demo_script.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace tidemark {
namespace {

struct word_entry {
  std::string_view name;
  demo_word word;
  std::int64_t number; // default of the first number
  std::string_view usage;
  std::string_view what;
};

constexpr std::array vocabulary{
  word_entry{"TOOL", demo_word::tool, 0, "<shell command>",
             "runs the command in the working directory"},
  word_entry{"SLOW", demo_word::slow, 1000, "<ms>", "starts to answer, then pauses"},
  word_entry{"PAUSE", demo_word::pause, 1000, "<ms>", "waits and prints nothing"},
  word_entry{"WORDS", demo_word::words, 10, "<n> [<ms>]",
             "n words, one delta each, ms between them"},
  word_entry{"ECHO", demo_word::echo, 0, "<text>", "answers with the text"},
  word_entry{"SHA", demo_word::sha, 0, "", "answers with size and SHA-256 of the whole prompt"},
  word_entry{"ENV", demo_word::env, 0, "", "answers with argv, environment, cwd and pids as JSON"},
  word_entry{"UTF8", demo_word::utf8, 0, "[<text>]", "multi-byte text, written one byte a write"},
  word_entry{"SPLIT", demo_word::split, 7, "<n>", "from here on writes in pieces of n bytes"},
  word_entry{"HUGE", demo_word::huge, 1 << 20, "<bytes>", "a tool result of that size"},
  word_entry{"NOISE", demo_word::noise, 0, "", "lines on stdout that are not the protocol"},
  word_entry{"REPLAY", demo_word::replay, 0, "<file> [<ms>]",
             "prints a file's lines instead of an answer"},
  word_entry{"ASK", demo_word::ask, 0, "<tool>", "asks for permission to use the tool"},
  word_entry{"QUESTION", demo_word::question, 0, "<text>",
             "asks the person a question and answers with what was chosen"},
  word_entry{"DIALOG", demo_word::dialog, 0, "[<subtype>]",
             "a control request nobody knows; waits for any answer"},
  word_entry{"BACKGROUND", demo_word::background, 300, "<ms>",
             "a task that ends that long after the result"},
  word_entry{"RETRY", demo_word::retry, 1000, "<ms>",
             "announces an API retry, is silent that long, goes on"},
  word_entry{"OVERLOAD", demo_word::overload, 100, "[<ms>]",
             "API retries, then the overload error"},
  word_entry{"ERROR", demo_word::error, 0, "<text>", "ends as error_during_execution"},
  word_entry{"MAXTURNS", demo_word::max_turns, 0, "", "ends as error_max_turns with no message"},
  word_entry{"LIMIT", demo_word::limit, 0, "", "ends with the usage limit"},
  word_entry{"LOGIN", demo_word::login, 0, "", "says that it is not logged in"},
  word_entry{"AUTHFAIL", demo_word::auth_fail, 0, "",
             "one line on stderr, exit 1, nothing on stdout"},
  word_entry{"RESULT", demo_word::result, 0, "",
             "ends the turn here; later steps run after the result"},
  word_entry{"NORESULT", demo_word::no_result, 0, "",
             "a whole answer, then silence without a result"},
  word_entry{"SILENT", demo_word::silent, 0, "", "silence for ever"},
  word_entry{"EXIT", demo_word::exit, 0, "<code>", "exits"},
  word_entry{"SIGNAL", demo_word::signal, 9, "<n>", "dies by the signal"},
  word_entry{"HALF", demo_word::half, 9, "[<n>]", "half of a result line, then dies by the signal"},
  word_entry{"STDERR", demo_word::stderr_bytes, 65537, "<bytes>", "writes that much to stderr"},
  word_entry{"IGNORETERM", demo_word::ignore_term, 0, "",
             "ignores TERM, INT, interrupts and end of input"},
  word_entry{"DEAF", demo_word::deaf, 0, "", "does not answer interrupts"},
  word_entry{"LATEINIT", demo_word::late_init, 200, "<ms>",
             "loses interrupts until it has started, that late"},
  word_entry{"ORPHAN", demo_word::orphan, 300, "<seconds>",
             "leaves helpers behind; answers with their pids"},
  word_entry{"CONFIG", demo_word::config, 20, "[<ms>]",
             "rewrites its configuration without care; exit 3 if broken"},
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

std::optional<std::int64_t> take_number(std::string_view& text) {
  const auto start = text.find_first_of("0123456789");
  if (start == std::string_view::npos) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const char* begin = text.data() + start;
  const auto [end, problem] = std::from_chars(begin, text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return problem == std::errc{} ? std::optional{value} : std::nullopt;
}

std::optional<demo_step> parse_line(std::string_view line) {
  const std::string_view name = line.substr(0, line.find_first_of(" \t"));
  const auto* entry = std::find_if(vocabulary.begin(), vocabulary.end(),
                                   [&](const word_entry& e) { return e.name == name; });
  if (entry == vocabulary.end()) {
    return std::nullopt;
  }
  demo_step step;
  step.word = entry->word;
  step.text = trimmed(line.substr(name.size()));
  std::string_view rest = step.text;
  if (entry->word == demo_word::replay) {
    const auto space = rest.find(' ');
    rest = space == std::string_view::npos ? std::string_view{} : rest.substr(space);
  }
  step.number = take_number(rest).value_or(entry->number);
  step.second = take_number(rest).value_or(0);
  return step;
}

} // namespace

std::vector<demo_step> parse_demo_script(std::string_view prompt) {
  std::vector<demo_step> steps;
  while (!prompt.empty()) {
    const auto end = prompt.find('\n');
    if (auto step = parse_line(trimmed(prompt.substr(0, end)))) {
      steps.push_back(std::move(*step));
    }
    prompt = end == std::string_view::npos ? std::string_view{} : prompt.substr(end + 1);
  }
  if (steps.empty()) {
    steps.emplace_back();
  }
  return steps;
}

std::string demo_script_help() {
  std::string help = "Each line of the prompt that begins with one of these words is a step:\n\n";
  for (const word_entry& entry : vocabulary) {
    std::string left = "  " + std::string(entry.name) + ' ' + std::string(entry.usage);
    left.resize(std::max<std::size_t>(left.size() + 2, 28), ' ');
    help += left + std::string(entry.what) + '\n';
  }
  return help + "\nAny other prompt gets a short answer.\n";
}

} // namespace tidemark
