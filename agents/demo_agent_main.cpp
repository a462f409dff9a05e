// tidemark-demo-agent: speaks Claude Code's stream-json protocol and does what its prompt says.
// For trying Tidemark without an account, and the fake agent of the tests. docs/demo-agent.md.
#include "agents/demo_runner.hpp"
#include "base/read_file.hpp"
#include "base/time.hpp"
#include "base/uuid.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <unistd.h>

namespace {

using namespace tidemark;

constexpr int failed = 1;
constexpr int session_in_use = 99;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string config_directory() {
  const std::string given = environment("CLAUDE_CONFIG_DIR");
  return given.empty() ? environment("HOME") + "/.claude" : given;
}

int complain(const std::string& what, int code = failed) {
  std::cerr << what << std::endl;
  return code;
}

// A repository's settings can ask for the bypass mode; the real CLI listens to them unless its
// setting sources leave the project out.
std::string effective_mode(const demo_arguments& given) {
  if (given.skip_permissions) {
    return "bypassPermissions";
  }
  if (given.project_settings) {
    const auto settings = parse_json(read_file(".claude/settings.json").value_or(""));
    if (settings && settings->is_object()) {
      const std::string mode = string_or(object_at(*settings, "permissions"), "defaultMode",
                                         string_or(*settings, "defaultMode"));
      if (!mode.empty()) {
        return mode;
      }
    }
  }
  return given.permission_mode;
}

json listed_servers(const std::vector<std::string>& files) {
  json servers = json::array();
  for (const std::string& file : files) {
    const auto config = parse_json(read_file(file).value_or(""));
    if (!config || !config->is_object()) {
      continue;
    }
    for (const auto& [name, settings] : object_at(*config, "mcpServers").items()) {
      servers.push_back(json::object({{"name", name}, {"status", "connected"}}));
    }
  }
  return servers;
}

// Why the real CLI would not even start here; empty if it would.
std::string refusal(const std::string& mode) {
  if (!environment("CLAUDECODE").empty()) {
    return "Error: Claude Code cannot be launched inside another Claude Code session.";
  }
  if (mode == "bypassPermissions" && ::geteuid() == 0 && environment("IS_SANDBOX") != "1") {
    return "--dangerously-skip-permissions cannot be used with root/sudo privileges for security "
           "reasons";
  }
  return {};
}

void answer_host(demo_protocol& lines, demo_output& out, const std::string& id,
                 const json& request) {
  const std::string subtype = string_or(request, "subtype");
  if (subtype == "initialize") {
    out.write(control_success(id, json::object({{"commands", json::array()},
                                                {"agents", json::array()},
                                                {"output_style", "default"},
                                                {"models", json::array()},
                                                {"account", json::object()},
                                                {"pid", ::getpid()}})));
  } else if (subtype == "set_permission_mode") {
    lines.set_permission_mode(string_or(request, "mode", "default"));
    out.write(control_success(id, json::object({{"mode", lines.permission_mode()}})));
    out.write(lines.status(nullptr));
  } else if (subtype == "set_model") {
    lines.set_model(string_or(request, "model", lines.model()));
    out.write(control_success(id, nullptr));
  } else if (subtype == "mcp_status") {
    out.write(control_success(id, json::object({{"mcpServers", json::array()}})));
  } else {
    out.write(control_error(id, "Unsupported control request subtype: " + subtype));
  }
}

expected<demo_session> open_session(const demo_arguments& given, const std::string& cwd) {
  if (!given.resume.empty()) {
    return demo_session::resume(config_directory(), cwd, given.resume);
  }
  const std::string id = given.session_id.empty() ? new_uuid(now_utc()) : given.session_id;
  return demo_session::create(config_directory(), cwd, id);
}

int serve(const demo_arguments& given, const std::string& mode) {
  const std::string cwd = std::filesystem::current_path().string();
  demo_output out;
  auto session = open_session(given, cwd);
  const std::string id = session ? session->id() : given.resume;
  demo_protocol lines(id, given.model, offered_tools(given), cwd,
                      [] { return new_uuid(now_utc()); });
  if (!session) {
    if (session.error().code == errc::not_found) {
      out.write(lines.result({.subtype = "error_during_execution",
                              .is_error = true,
                              .errors = json::array({session.error().message}),
                              .stop_reason = nullptr}));
    }
    return complain(session.error().message,
                    session.error().code == errc::locked ? session_in_use : failed);
  }
  lines.set_permission_mode(mode);
  lines.set_mcp_servers(listed_servers(given.mcp_config));
  demo_input input(out, [&](const std::string& request_id, const json& request) {
    answer_host(lines, out, request_id, request);
  });
  demo_runner runner(given, std::move(*session), lines, input, out, config_directory());
  if (given.stream_input) {
    input.start();
    // Without destructors: the thread that reads stdin still uses what stands above.
    ::_exit(runner.run());
  }
  const std::string prompt =
    given.prompt.empty() ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : given.prompt;
  return runner.run_once(prompt);
}

} // namespace

int main(int argc, char** argv) {
  const auto given = parse_demo_arguments({argv + 1, argv + argc});
  if (!given) {
    return complain(given.error().message);
  }
  if (given->version) {
    std::cout << demo_version << " (Tidemark demo agent)" << std::endl;
    return 0;
  }
  if (given->help) {
    std::cout << "tidemark-demo-agent: a stand-in for Claude Code with the same command line and "
                 "protocol.\n\n"
              << demo_script_help();
    return 0;
  }
  for (const std::string& name : unknown_disallowed(*given)) {
    std::cerr << "Warning: disallowed tool \"" << name << "\" matches no known tool" << std::endl;
  }
  const std::string mode = effective_mode(*given);
  if (const std::string why = refusal(mode); !why.empty()) {
    return complain(why);
  }
  return serve(*given, mode);
}
