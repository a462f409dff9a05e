#include "app/cli.hpp"

#include "app/command_line.hpp"
#include "app/usage_error.hpp"
#include "replay/cursor.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <poll.h>
#include <unistd.h>

namespace tidemark {
namespace {

/// The reader of our output has left (`| head`), which is its right.
bool reader_left() {
  pollfd out{STDOUT_FILENO, 0, 0};
  return ::poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

/// The exit code, unless the results could not be written (full disk).
int written(int code, terminal& to) {
  to.out.flush();
  if (to.out || code != exit_ok || reader_left())
    return code;
  to.err << painted(to, tint::red, "error: ") << "the output could not be written\n";
  return exit_failed;
}

int usage_error(const std::string& message, terminal& to) {
  to.err << painted(to, tint::red, "error: ") << neutralised(message) << '\n';
  return exit_usage;
}

expected<config> settings_of(const command_line& line, const environment_map& environment) {
  auto path = line.config_path;
  if (const auto named = environment.find("TIDEMARK_CONFIG");
      path.empty() && named != environment.end())
    path = named->second;
  auto file = read_config_file(path);
  if (!file)
    return tl::unexpected(file.error());
  auto loaded = load_config({line.flags, environment, std::move(*file)});
  if (!loaded)
    return loaded;
  return resolve(*loaded, environment, process_executable()).map([&] {
    return std::move(*loaded);
  });
}

api_address address_of(const command_line& line, const environment_map& environment) {
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string{} : found->second;
  };
  api_address address;
  address.token = value("TIDEMARK_TOKEN");
  if (address.token.empty())
    address.token = value("INTERNAL_API_TOKEN");
  const auto named = line.server.empty() ? value("TIDEMARK_SERVER") : line.server;
  if (!named.empty())
    address.url = named.find("://") == std::string::npos ? "http://" + named : named;
  return address;
}

/// The commands that need the settings: serve, config, doctor, token, verify, restore.
int run_with_settings(const std::string& name, const command_line& line,
                      const environment_map& environment, terminal& to) {
  const auto what = settings_of(line, environment);
  if (!what)
    return usage_error(what.error().describe(), to);
  if (name == "serve")
    return run_serve(*what, to);
  if (name == "doctor")
    return run_doctor(*what, address_of(line, environment).token, to);
  if (name == "token")
    return run_token(*what, line.token, to);
  if (name == "verify" && !line.verify.offline && !line.flags.empty())
    return usage_error(
      "settings are for --offline, which reads the log itself; which server to ask "
      "is said by --server <url>",
      to);
  if (name == "restore")
    return run_restore(*what, line.restore, to);
  if (name == "verify" && line.verify.workspace.empty() && line.verify.checkpoint.empty())
    return usage_error("workspace is required, or --checkpoint <path>", to);
  if (name == "verify" && !line.verify.public_key.empty() && line.verify.checkpoint.empty())
    return usage_error("--public-key is for the signature of a --checkpoint <path>", to);
  if (name == "verify")
    return run_verify(address_of(line, environment), *what, line.verify, to);
  const auto format = line.config_markdown ? config_format::markdown
                      : line.config_json   ? config_format::object
                                           : config_format::lines;
  return run_config(*what, format, to);
}

int run_parsed(const std::string& name, command_line& line, const environment_map& environment,
               terminal& to) {
  if (name == "version")
    return run_version(to);
  if (name == "send") {
    line.send.text = fmt::format("{}", fmt::join(line.send_words, " "));
    return run_send(address_of(line, environment), line.send, to);
  }
  if (name == "tail") {
    if (const auto after = cursor::parse(line.tail.after); !line.tail.after.empty() && !after)
      return usage_error(fmt::format("--after {}: {}", line.tail.after, after.error().message), to);
    return run_tail(address_of(line, environment), line.tail, to);
  }
  if (name == "events")
    return run_events(address_of(line, environment), line.events, to);
  if (name == "turns")
    return run_turns(address_of(line, environment), line.turns, to);
  if (name == "consumers")
    return run_consumers(address_of(line, environment), line.consumers, to);
  if (name == "retention")
    return run_retention(address_of(line, environment), line.retention, to);
  if (name == "show")
    return run_show(address_of(line, environment), line.show, to);
  if (name == "diff")
    return run_diff(address_of(line, environment), line.diff, to);
  if (name == "permissions")
    return run_permissions(address_of(line, environment), line.permissions, to);
  if (name == "decide")
    return run_decide(address_of(line, environment), line.decide, to);
  if (name == "backup")
    return run_backup(address_of(line, environment), line.backup, to);
  if (name == "checkpoint")
    return run_checkpoint(address_of(line, environment), line.checkpoint, to);
  if (name == "workspaces")
    return run_workspaces(address_of(line, environment), line.workspaces_json, to);
  return run_with_settings(name, line, environment, to);
}

} // namespace

int run_cli(std::vector<std::string> arguments, const environment_map& environment, terminal& to) {
  command_line line;
  CLI::App app{"", "tidemark"};
  describe(app, line);
  try {
    std::reverse(arguments.begin(), arguments.end()); // CLI11 takes them from the end
    app.parse(arguments);
  } catch (const CLI::ParseError& why) {
    if (why.get_exit_code() != 0 || !app.remaining().empty())
      return usage_error(explain_usage(app, why), to);
    app.exit(why, to.out, to.err); // help and version come this way too
    return exit_ok;
  }
  try {
    const auto name = app.get_subcommands().front()->get_name();
    const int code = run_parsed(name, line, environment, to);
    return name == "serve" ? code : written(code, to);
  } catch (const std::exception& why) {
    to.err << painted(to, tint::red, "error: ")
           << "this is a bug of tidemark: " << neutralised(why.what()) << '\n';
    return exit_failed;
  }
}

} // namespace tidemark
