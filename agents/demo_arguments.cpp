#include "agents/demo_arguments.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace tidemark {
namespace {

constexpr std::array catalogue{"Task",          "AskUserQuestion",
                               "Bash",          "Edit",
                               "EnterPlanMode", "ExitPlanMode",
                               "Glob",          "Grep",
                               "NotebookEdit",  "Read",
                               "Skill",         "TaskOutput",
                               "TaskStop",      "TodoWrite",
                               "ToolSearch",    "WebFetch",
                               "WebSearch",     "Write"};

// The real CLI offers these only to who asks for them by name.
constexpr std::array by_name_only{"Glob", "Grep"};

constexpr std::array switches{"-p",
                              "--print",
                              "--verbose",
                              "--strict-mcp-config",
                              "--continue",
                              "--fork-session",
                              "--include-hook-events"};
constexpr std::array with_value{
  "--output-format", "--settings", "--fallback-model", "--max-turns",    "--append-system-prompt",
  "--system-prompt", "--add-dir",  "--allowedTools",   "--allowed-tools"};

bool contains(std::span<const char* const> set, std::string_view name) {
  return std::any_of(set.begin(), set.end(), [&](const char* s) { return name == s; });
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto cut = text.find_first_of(", ");
    if (cut != 0) {
      parts.emplace_back(text.substr(0, cut));
    }
    text = cut == std::string_view::npos ? std::string_view{} : text.substr(cut + 1);
  }
  return parts;
}

struct reader {
  const std::vector<std::string>& argv;
  std::size_t at = 0;
  std::string missing = {};

  std::string value(const std::string& option) {
    if (at + 1 >= argv.size()) {
      missing = "error: option '" + option + "' argument missing";
      return {};
    }
    return argv[++at];
  }

  // Lists take all that follows up to the next option, each item itself a list.
  std::vector<std::string> values(const std::string& option) {
    std::vector<std::string> all = split(value(option));
    while (at + 1 < argv.size() && !argv[at + 1].starts_with('-')) {
      for (std::string& part : split(argv[++at])) {
        all.push_back(std::move(part));
      }
    }
    return all;
  }
};

bool take_option(const std::string& option, reader& in, demo_arguments& out) {
  if (option == "--version" || option == "-v") {
    out.version = true;
  } else if (option == "--help" || option == "-h") {
    out.help = true;
  } else if (option == "--input-format") {
    out.stream_input = in.value(option) == "stream-json";
  } else if (option == "--include-partial-messages") {
    out.partial_messages = true;
  } else if (option == "--replay-user-messages") {
    out.replay_user_messages = true;
  } else if (option == "--permission-prompt-tool") {
    out.asks_on_stdio = in.value(option) == "stdio";
  } else if (option == "--dangerously-skip-permissions") {
    out.skip_permissions = true;
  } else if (option == "--permission-mode") {
    out.permission_mode = in.value(option);
  } else if (option == "--setting-sources") {
    out.project_settings = in.value(option).find("project") != std::string::npos;
  } else if (option == "--model") {
    out.model = in.value(option);
  } else if (option == "--resume" || option == "-r") {
    out.resume = in.value(option);
  } else if (option == "--session-id") {
    out.session_id = in.value(option);
  } else if (option == "--mcp-config") {
    out.mcp_config = in.values(option);
  } else if (option == "--tools") {
    out.tools = in.values(option);
  } else if (option == "--disallowedTools" || option == "--disallowed-tools") {
    out.disallowed = in.values(option);
  } else if (contains(with_value, option)) {
    in.value(option);
  } else {
    return contains(switches, option);
  }
  return true;
}

} // namespace

expected<demo_arguments> parse_demo_arguments(const std::vector<std::string>& argv) {
  demo_arguments out;
  for (reader in{argv}; in.at < argv.size(); ++in.at) {
    std::string option = argv[in.at];
    if (!option.starts_with('-')) {
      out.prompt = option;
      continue;
    }
    // `--name=value` is the same as `--name value`.
    if (const auto equals = option.find('='); equals != std::string::npos) {
      const std::vector<std::string> pair{option.substr(0, equals), option.substr(equals + 1)};
      reader inner{pair};
      if (!take_option(pair[0], inner, out)) {
        return fail(errc::invalid_argument, "error: unknown option '" + pair[0] + "'");
      }
      continue;
    }
    if (!take_option(option, in, out)) {
      return fail(errc::invalid_argument, "error: unknown option '" + option + "'");
    }
    if (!in.missing.empty()) {
      return fail(errc::invalid_argument, in.missing);
    }
  }
  return out;
}

std::vector<std::string> offered_tools(const demo_arguments& given) {
  std::vector<std::string> offered;
  for (const char* name : catalogue) {
    const bool asked = given.tools ? std::count(given.tools->begin(), given.tools->end(), name) > 0
                                   : !contains(by_name_only, name);
    if (asked && std::count(given.disallowed.begin(), given.disallowed.end(), name) == 0) {
      offered.emplace_back(name);
    }
  }
  return offered;
}

std::vector<std::string> unknown_disallowed(const demo_arguments& given) {
  std::vector<std::string> unknown;
  for (const std::string& name : given.disallowed) {
    if (!contains(catalogue, name)) {
      unknown.push_back(name);
    }
  }
  return unknown;
}

} // namespace tidemark
