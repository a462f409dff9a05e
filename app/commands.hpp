#pragma once

#include "app/api_client.hpp"
#include "app/config.hpp"
#include "app/exit_code.hpp"
#include "app/terminal.hpp"
#include "base/json.hpp"
#include "storage/backup_pruning.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// The commands of `tidemark`, one file each. All return an exit code and write to the terminal only.
namespace tidemark {

/// Runs the server until it is told to stop.
int run_serve(const config& what, terminal& to);

struct send_options {
  std::string workspace;
  std::string text; ///< `-`: from stdin
  std::string model;
  bool as_json = false;              ///< events as they are, one a line
  bool detach = false;               ///< print the turn's id and leave
  std::chrono::seconds patience{60}; ///< to wait for a server that does not answer while following
};
/// Enqueues a turn and follows it. The exit code is its outcome.
int run_send(const api_address& server, const send_options& what, terminal& to);

struct tail_options {
  std::string workspace;
  std::string after; ///< `1042` or `3-1042`; empty: from the beginning
  bool follow = false;
  bool as_json = false;
  std::chrono::seconds patience{60};
};
/// Prints a workspace's events, and with `follow` those to come.
int run_tail(const api_address& server, const tail_options& what, terminal& to);

enum class events_format { text, ndjson, csv };

/// Which events of which workspaces; empty conditions ask for all.
struct events_options {
  std::vector<std::string> types;
  std::vector<std::string> workspaces;
  std::string turn;
  std::string tool;
  std::string outcome;
  std::string text;
  std::string since;     ///< RFC 3339
  std::string until;     ///< RFC 3339
  std::string after;     ///< a position in the log
  std::size_t limit = 0; ///< 0: all
  bool newest = false;   ///< looks back from the newest
  bool raw = false;
  bool follow = false;
  events_format format = events_format::text;
  std::string output; ///< a file; empty: stdout
};
/// Prints or exports events of all workspaces.
int run_events(const api_address& server, const events_options& what, terminal& to);

struct show_options {
  std::string turn;
  bool full = false;    ///< tools' output and reasoning whole
  bool as_json = false; ///< the events that it is made of, one a line
};
/// Prints one turn as people read it.
int run_show(const api_address& server, const show_options& what, terminal& to);

struct diff_options {
  std::string turn;
  bool names_only = false; ///< the files with their counts of lines, not what is in them
  bool as_json = false;    ///< the event that names the files
};
/// Prints what one turn changed in its workspace's files; to a screen neutralised and coloured, else a
/// patch as it is.
int run_diff(const api_address& server, const diff_options& what, terminal& to);

struct turns_options {
  std::string workspace;
  std::size_t limit = 20;
  bool as_json = false;
};
/// Lists a workspace's turns, newest first.
int run_turns(const api_address& server, const turns_options& what, terminal& to);

struct permissions_options {
  std::string workspace; ///< empty: all
  std::string forget;    ///< the rule to remove
  bool as_json = false;
};
/// Lists what waits for a person's decision, and a workspace's rules; or removes one.
int run_permissions(const api_address& server, const permissions_options& what, terminal& to);

struct decide_options {
  std::string workspace;
  std::string permission;
  std::string decision; ///< `allow`, `always`, `deny`
  std::string message;
  std::vector<std::string> answers; ///< `question=answer`
};
/// Decides on one request of an agent.
int run_decide(const api_address& server, const decide_options& what, terminal& to);

struct consumers_options {
  std::string workspace;
  bool as_json = false;
};
/// Lists a workspace's consumers and webhooks with their places.
int run_consumers(const api_address& server, const consumers_options& what, terminal& to);

/// Lists the workspaces.
int run_workspaces(const api_address& server, bool as_json, terminal& to);

struct verify_options {
  std::string workspace;
  bool offline = false; ///< read the data directory itself instead of asking the server
  std::string
    checkpoint; ///< a file of run_checkpoint to compare with; its workspaces, or `workspace` only
  std::string public_key; ///< PEM of who must have signed it; empty: whoever
};
/// Recomputes a workspace's hash chain. Offline it refuses a directory that a server runs on.
int run_verify(const api_address& server, const config& local, const verify_options& what,
               terminal& to);

/// Compares a log with a checkpoint: prints each workspace that does not hold any more what it held.
int run_verify_checkpoint(const api_address& server, const config& local,
                          const verify_options& what, terminal& to);

struct checkpoint_options {
  std::string sign;       ///< PEM of a private Ed25519 key; empty: not signed
  std::string output;     ///< a file; empty: stdout
  std::string new_key;    ///< only make a key, into this file
  bool overwrite = false; ///< the output, if it is there
};
/// Writes down where every workspace's events end, to be kept where the server cannot change it.
int run_checkpoint(const api_address& server, const checkpoint_options& what, terminal& to);

struct backup_options {
  std::string target;     ///< a directory of backups, or one backup in a file `….tar.zst`
  bool verify = false;    ///< check the backups that are there instead of making one
  bool prune = false;     ///< remove backups and what none needs instead of making one
  keep_rules keep;        ///< for `prune`
  bool overwrite = false; ///< the file, if it is there
};
/// Makes a backup of a running server's log: fetches what the directory does not have yet, or all of it
/// into a file.
int run_backup(const api_address& server, const backup_options& what, terminal& to);

/// Reads all backups in a directory and says what is wrong with each. Changes nothing of them; the date when
/// all were whole is written down beside them, if that can be.
int verify_backups(const std::string& directory, terminal& to);
/// Reads the backup in a file, every content against its hash. Writes nothing.
int verify_backup_archive(const std::string& file, terminal& to);

struct restore_options {
  std::string source; ///< a directory of backups, or one backup in a file `….tar.zst`
  std::string at;     ///< RFC 3339: the newest backup that is not later; empty: the newest
};
/// Restores a backup into `data.dir`, which must have been said and be missing or empty.
int run_restore(const config& local, const restore_options& what, terminal& to);

struct token_options {
  enum kind { create, list, revoke } action = list;
  std::string name;                                  ///< of the token; for `revoke` also its id
  std::vector<std::string> scopes;                   ///< read, write, admin
  std::optional<std::chrono::milliseconds> lifetime; ///< empty: for ever
};
/// Makes, lists and revokes tokens in the tokens file. No server need run.
int run_token(const config& local, const token_options& what, terminal& to);

/// Prints the settings with their sources.
enum class config_format { lines, object, markdown };
int run_config(const config& what, config_format format, terminal& to);

/// Checks what the server needs, each finding with its remedy. A running server is asked with
/// `token`; empty: with its own.
int run_doctor(const config& what, const std::string& token, terminal& to);

int run_version(terminal& to);

/// Asks the server for `path` and prints the answer: its body with `as_json`, else by `show`.
int print_answer(const api_address& server, const std::string& path, bool as_json, terminal& to,
                 const std::function<void(const json&)>& show);

/// Says why a call failed and what to do about it; returns the exit code that fits.
int report_failure(const error& why, const api_address& server, terminal& to);
/// The same for what failed on this machine, with no server asked; returns `exit_failed`.
int report_local_failure(const error& why, terminal& to);

/// For `api_client::follow`: says that it waits for the server, and how long.
api_client::loss_handler waiting_notice(std::chrono::seconds patience, terminal& to);

} // namespace tidemark
