#pragma once

#include "app/commands.hpp"

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tidemark {

/// Everything that the command line says. CLI11 writes into it.
struct command_line {
  std::string config_path;
  std::string server;
  std::map<std::string, std::string> flags; // setting key -> value
  send_options send;
  std::vector<std::string> send_words;
  tail_options tail;
  events_options events;
  show_options show;
  diff_options diff;
  turns_options turns;
  permissions_options permissions;
  decide_options decide;
  consumers_options consumers;
  retention_options retention;
  verify_options verify;
  token_options token;
  checkpoint_options checkpoint;
  backup_options backup;
  restore_options restore;
  bool workspaces_json = false;
  bool config_json = false;
  bool config_markdown = false;
};

/// Declares every command with its options, which write into `line`, and the help that teaches them.
void describe(CLI::App& app, command_line& line);

} // namespace tidemark
