// The demo agent's steps that do more than speak: tools, permissions, replay, background tasks.
#include "agents/demo_command.hpp"
#include "agents/demo_runner.hpp"
#include "base/read_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <openssl/evp.h>
#include <sstream>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace tidemark {
namespace {

using std::chrono::milliseconds;

std::string content_of(const std::string& path) {
  return read_file(path).value_or("");
}

// The entries of a NUL-separated list such as /proc/self/cmdline.
json split_at_nul(const std::string& text) {
  json parts = json::array();
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, '\0');) {
    parts.push_back(repair_utf8(part));
  }
  return parts;
}

bool only_reads(const std::string& tool) {
  return tool == "Read" || tool == "Glob" || tool == "Grep";
}

bool edits(const std::string& tool) {
  return tool == "Edit" || tool == "Write";
}

} // namespace

bool demo_runner::needs_consent(const std::string& tool) const {
  const std::string mode = lines_.permission_mode();
  if (mode == "bypassPermissions" || allowed_.contains(tool)) {
    return false;
  }
  return !only_reads(tool) && !(mode == "acceptEdits" && edits(tool));
}

bool demo_runner::call_tool(const std::string& name, const json& input, bool always_ask,
                            const std::function<tool_answer()>& run, const std::string& preamble) {
  begin();
  const std::string id = lines_.tool_use_id();
  json block = json::object({{"type", "tool_use"}, {"id", id}, {"name", name}});
  json opening = block;
  opening["input"] = json::object();
  block["input"] = input;
  print_partial(lines_.message_start());
  if (!preamble.empty() && !say_block({preamble}, {})) {
    return false;
  }
  print_partial(lines_.block_start(opening));
  print_partial(
    lines_.delta(json::object({{"type", "input_json_delta"}, {"partial_json", input.dump()}})));
  print(lines_.assistant(block));
  print_partial(lines_.block_stop());
  print_partial(lines_.message_end("tool_use"));
  open_tool_ = id;
  last_text_.clear();

  const tool_answer answer = answer_call(name, id, input, always_ask, run);
  if (input_.interrupted()) {
    return false;
  }
  open_tool_.reset();
  print(lines_.tool_result(id, answer.content, answer.is_error));
  print(lines_.status("requesting"));
  return true;
}

demo_runner::tool_answer demo_runner::answer_call(const std::string& name, const std::string& id,
                                                  const json& input, bool always_ask,
                                                  const std::function<tool_answer()>& run) {
  const auto& offered = lines_.tools();
  if (std::find(offered.begin(), offered.end(), name) == offered.end()) {
    return {"Error: No such tool available: " + name, true};
  }
  tool_answer refusal;
  if (always_ask || needs_consent(name)) {
    const consent decided = ask(name, id, input, refusal);
    if (decided == consent::refused) {
      lines_.denied(name, id, input);
    }
    if (decided != consent::given) {
      return refusal;
    }
  }
  return run();
}

demo_runner::consent demo_runner::ask(const std::string& name, const std::string& id,
                                      const json& input, tool_answer& refusal) {
  if (!given_.asks_on_stdio) {
    refusal = {"Claude requested permissions to use " + name + ", but you haven't granted it yet.",
               true};
    return consent::refused;
  }
  const std::string request = "req_demo_" + std::to_string(++request_serial_);
  print(control_request(request, can_use_tool(name, id, input)));
  const auto answer = input_.await_answer(request);
  if (input_.interrupted()) {
    print(control_cancel(request));
    return consent::interrupted;
  }
  if (!answer) {
    refusal = {"Error: the host is gone", true};
    return consent::refused;
  }
  const json& decided = object_at(*answer, "response");
  if (string_or(decided, "behavior") == "allow" && decided.contains("updatedInput")) {
    if (!array_at(decided, "updatedPermissions").empty()) {
      allowed_.insert(name);
    }
    updated_input_ = object_at(decided, "updatedInput");
    return consent::given;
  }
  // The real CLI takes an answer without the fields it needs as a malformed one, and refuses.
  refusal = {string_or(decided, "message", "Error: malformed permission answer"), true};
  return consent::refused;
}

bool demo_runner::run_command(const demo_step& step) {
  const json input = json::object({{"command", step.text}, {"description", "requested command"}});
  const auto run = [&] {
    demo_command_result done = run_demo_command(step.text, input_.interrupt_descriptor());
    std::string content = std::move(done.output);
    if (done.status != 0) {
      content = "Exit code " + std::to_string(done.status) + '\n' + content;
    }
    return tool_answer{std::move(content), done.status != 0};
  };
  return call_tool("Bash", input, false, run, "I will run it.");
}

bool demo_runner::ask_permission(const demo_step& step) {
  const std::string tool = step.text.empty() ? "Write" : step.text;
  bool allowed = false;
  const auto run = [&] {
    allowed = true;
    return tool_answer{"done", false};
  };
  const bool must_ask = lines_.permission_mode() != "bypassPermissions" && !allowed_.contains(tool);
  const json input = json::object({{"file_path", "asked.txt"}, {"content", "1"}});
  return call_tool(tool, input, must_ask, run)
         && say({allowed ? "Allowed " : "Refused ", tool, "."});
}

bool demo_runner::ask_question(const demo_step& step) {
  const std::string text = step.text.empty() ? "Which colour?" : step.text;
  json options = json::array();
  for (const char* label : {"red", "blue"})
    options.push_back({{"label", label}, {"description", std::string{label} + " it is"}});
  json question = json::object(
    {{"question", text}, {"header", "Choice"}, {"multiSelect", false}, {"options", options}});
  const json input = json::object({{"questions", json::array({std::move(question)})}});
  std::string chosen = "nothing";
  const auto run = [&] {
    chosen = string_or(object_at(updated_input_, "answers"), text.c_str(), "nothing");
    return tool_answer{"User has answered your questions: " + chosen, false};
  };
  return call_tool("AskUserQuestion", input, true, run) && say({"Chosen: ", chosen, "."});
}

bool demo_runner::show_dialog(const demo_step& step) {
  begin();
  const std::string request = "req_demo_" + std::to_string(++request_serial_);
  const std::string subtype = step.text.empty() ? "request_user_dialog" : step.text;
  print(
    control_request(request, json::object({{"subtype", subtype},
                                           {"dialog_kind", "confirm"},
                                           {"payload", json::object({{"text", "Proceed?"}})}})));
  const auto answer = input_.await_answer(request);
  if (input_.interrupted()) {
    return false;
  }
  return say({"Dialog: ", answer ? string_or(*answer, "subtype", "malformed") : "no host", "."});
}

// A request in the file waits for its answer, unless the file itself withdraws it at once.
bool demo_runner::replay(const demo_step& step) {
  begun_ = true;
  settled_ = true;
  const std::string bytes = content_of(step.text.substr(0, step.text.find(' ')));
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size() - 1) + 1;
    const std::string line = bytes.substr(at, end - at);
    at = end;
    print(line);
    if (!input_.pause(milliseconds(step.number))) {
      settled_ = false;
      return false;
    }
    const auto parsed = parse_json(line);
    const std::string next = bytes.substr(at, bytes.find('\n', at) - at);
    if (parsed && string_or(*parsed, "type") == "control_request"
        && next.find("control_cancel_request") == std::string::npos) {
      input_.await_answer(string_or(*parsed, "request_id"));
    }
  }
  return true;
}

bool demo_runner::start_background(const demo_step& step) {
  const std::string id = "b" + std::to_string(++task_serial_);
  const json input = json::object({{"command", "sleep"}, {"run_in_background", true}});
  const auto run = [&] {
    const json listed =
      json::object({{"task_id", id}, {"task_type", "local_bash"}, {"description", "sleep"}});
    print(lines_.task("task_started", id,
                      json::object({{"description", "sleep"}, {"task_type", "local_bash"}})));
    print(lines_.background_tasks(json::array({listed})));
    return tool_answer{"Command running in background with ID: " + id, false};
  };
  if (!call_tool("Bash", input, false, run)) {
    return false;
  }
  tasks_.push_back({id, std::chrono::steady_clock::now() + milliseconds(step.number)});
  return say({"Started."});
}

void demo_runner::finish_background() {
  const open_task task = tasks_.front();
  tasks_.erase(tasks_.begin());
  lines_.begin_turn();
  print(lines_.task("task_updated", task.id,
                    json::object({{"patch", json::object({{"status", "completed"}})}})));
  print(lines_.background_tasks(json::array()));
  say({"The background job finished."});
  print(lines_.result({.text = last_text_, .from_background = true}));
}

bool demo_runner::overload(const demo_step& step) {
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const std::int64_t delay = step.number * attempt;
    print(lines_.api_retry(attempt, static_cast<double>(delay)));
    if (!input_.pause(milliseconds(delay))) {
      return false;
    }
  }
  constexpr int overloaded = 529;
  settle_error_text("API Error: 529 Overloaded. Try again in a moment.", "server_error",
                    overloaded);
  return true;
}

bool demo_runner::orphans(const demo_step& step) {
  std::vector<std::string> words{"orphans"};
  for (const int pid : leave_orphans(step.number)) {
    words.push_back(' ' + std::to_string(pid));
  }
  return say(words);
}

void demo_runner::rewrite_config(const demo_step& step) {
  const std::string path = config_directory_ + "/.claude.json";
  const std::string before = content_of(path);
  auto config = before.empty() && !std::filesystem::exists(path) ? expected<json>(json::object())
                                                                 : parse_json(before);
  if (!config || !config->is_object()) {
    constexpr int broken_configuration = 3;
    ::_exit(broken_configuration);
  }
  (*config)["runs"] = int_or(*config, "runs", 0) + 1;
  std::ofstream out(path, std::ios::trunc);
  out.flush();
  std::this_thread::sleep_for(milliseconds(step.number));
  out << config->dump();
}

std::string demo_sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    constexpr std::string_view digits = "0123456789abcdef";
    hex += digits[digest[i] >> 4];
    hex += digits[digest[i] & 0xf];
  }
  return hex;
}

json describe_own_process() {
  json environment = json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = repair_utf8(*entry);
    const auto equals = text.find('=');
    environment[text.substr(0, equals)] =
      equals == std::string::npos ? "" : text.substr(equals + 1);
  }
  const std::string parent = "/proc/" + std::to_string(::getppid()) + "/environ";
  return json::object({{"argv", split_at_nul(content_of("/proc/self/cmdline"))},
                       {"env", std::move(environment)},
                       {"cwd", std::filesystem::current_path().string()},
                       {"pid", ::getpid()},
                       {"ppid", ::getppid()},
                       {"parent_env", split_at_nul(content_of(parent))}});
}

} // namespace tidemark
