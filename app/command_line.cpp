#include "app/command_line.hpp"

#include "app/setting_table.hpp"
#include "app/setting_values.hpp"
#include "base/time.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace tidemark {
namespace {

constexpr auto overview =
  R"(Tidemark runs coding agents in persistent workspaces over a durable event log.

  tidemark serve                                   start a server on 127.0.0.1:7021
  tidemark send docs "Explain the build"           run one task and watch it
  tidemark tail docs --follow                      every event of a workspace, then live
  tidemark events --since 2h --outcome failed      what happened in all of them
  tidemark doctor                                  what is missing here, and how to mend it)";

constexpr auto exit_codes =
  R"(Exit codes: 0 done · 1 the task failed or a check found a fault · 2 wrong usage or settings ·
3 no answer from the server · 4 the server cannot start · 5 the server refused · 130 interrupted)";

constexpr auto serve_examples = R"(Examples:
  tidemark serve
  tidemark serve --port 0 --data-dir /var/lib/tidemark
  INTERNAL_API_TOKEN=$(openssl rand -hex 32) tidemark serve --host 0.0.0.0
Once it serves, stdout says: tidemark listening on http://127.0.0.1:7021
SIGTERM ends it in order; a second one at once.)";

constexpr auto send_examples = R"(Examples:
  tidemark send docs "Explain the build in three sentences"
  git diff | tidemark send review -
  tidemark send docs "Fix the tests" --json | jq -r .type
The exit code is the outcome: 0 succeeded, 1 failed, cancelled or interrupted. Ctrl-C stops
watching; the turn goes on and `tidemark tail` shows the rest.)";

constexpr auto tail_examples = R"(Examples:
  tidemark tail docs                        all events so far
  tidemark tail docs --after 1042 --follow  the events from 1043 on, then live
  tidemark tail docs --json | jq -c 'select(.type == "turn.completed")'
A lost connection is taken up again where it broke: no event is missed or repeated.)";

constexpr auto events_examples = R"(Examples:
  tidemark events --since 2h --type turn.completed --outcome failed
  tidemark events --tool Bash --text 'rm -rf' --newest -n 20
  tidemark events --workspace docs --format ndjson --raw -o docs.ndjson
  tidemark events --type 'permission.*' --follow
Times are RFC 3339 (2026-11-29T17:05:09Z, 2026-11-29) or a duration back from now (30m, 2h, 7d).
A question by type, tool, outcome or turn costs what it finds; by text alone it looks at every event
of the time asked for, and says how far it is.)";

constexpr std::chrono::hours max_token_lifetime{24 * 36'500};

constexpr auto token_examples = R"(Examples:
  tidemark token create ci --scope read,write --http-tokens-file /etc/tidemark/tokens.json
  tidemark token create prometheus --scope read --expires 90d
  tidemark token list
  tidemark token revoke ci
Scopes: read (look), write (tasks, cancels, taking results), admin (everything, shells and model
providers too). The file holds hashes only; a running server follows its changes. To change a
token, create a second one of the same name, move its user over, and revoke the first by its id.)";

constexpr auto checkpoint_examples = R"(Examples:
  tidemark checkpoint --new-key auditor.pem > auditor-public.pem
  tidemark checkpoint --sign auditor.pem -o 2026-01-31.json
  tidemark verify --checkpoint 2026-01-31.json --public-key auditor-public.pem
  tidemark verify --checkpoint 2026-01-31.json --public-key auditor-public.pem --offline --data-dir /copy
Keep key and checkpoints where the server's user cannot write. Keys of `openssl genpkey -algorithm
ed25519` serve as well.)";

constexpr auto backup_examples = R"(Examples:
  tidemark backup /backup/tidemark             of the running server; fetches what is new only
  tidemark backup /backup/tidemark --verify    all backups there: every file, every hash chain
  tidemark backup /backup/tidemark --prune --keep-last 7 --keep-within 30d
  tidemark backup tidemark.tar.zst             all of it, in one file
  tidemark restore /backup/tidemark --data-dir /var/lib/tidemark
Asks for a token with the scope admin (TIDEMARK_TOKEN). A backup holds the log: not the workspaces'
files, the agents' conversations or the settings (docs/operations.md, Backup).)";

using setting_keys = std::vector<std::string_view>;

/// These settings of the table as flags of `to`; none: all of them.
void add_settings(CLI::App* to, command_line& into, const setting_keys& only = {}) {
  to->add_option("--config", into.config_path,
                 "Settings file; default: tidemark.toml here, if there is one.")
    ->type_name("<path>")
    ->group("Settings");
  for (const auto& s : all_settings()) {
    if (s.secret || (!only.empty() && std::ranges::find(only, s.key) == only.end()))
      continue;
    std::string names = s.flag();
    for (const auto& other : s.other_flags)
      names += "," + other;
    const bool is_toggle = s.allowed == toggle_values;
    auto* option = to->add_option_function<std::string>(
      names,
      [&into, key = s.key, is_toggle](const std::string& value) {
        into.flags[key] = is_toggle && value.empty() ? "true" : value;
      },
      s.text);
    option->type_name(s.allowed)->group("Settings");
    if (is_toggle)
      option->expected(0, 1); // without a value it means true
  }
  to->footer("Every flag --a-b of a setting is also the variable TIDEMARK_A_B and the key a.b of "
             "tidemark.toml.");
}

/// All settings, without drowning the command's own options in them.
void add_settings_unlisted(CLI::App* to, command_line& into) {
  add_settings(to, into);
  for (auto* option :
       to->get_options([](const CLI::Option* o) { return o->get_group() == "Settings"; }))
    option->group("");
  to->footer("Takes all settings of the server, as flags too: `tidemark serve --help` lists them.");
}

void add_server(CLI::App* to, command_line& into) {
  to->add_option("--server", into.server,
                 "Address of the server; default: TIDEMARK_SERVER or http://127.0.0.1:7021.")
    ->type_name("<url>");
}

/// The rule for names is said here, not by a server that sees a path it does not know.
void add_workspace(CLI::App* to, std::string& name, const std::string& meaning) {
  const auto rule = [](const std::string& text) {
    const auto id = workspace_id::parse(text);
    return id ? std::string{} : id.error().message;
  };
  to->add_option("workspace", name, meaning)->required()->check(CLI::Validator{rule, ""});
}

void add_send(CLI::App& app, command_line& line) {
  auto* send = app.add_subcommand("send", "Run one task in a workspace and watch it");
  add_workspace(send, line.send.workspace, "Its name; made if there is none.");
  send->add_option("text", line.send_words, "The task; - reads it from stdin.")->required();
  send->add_option("--model", line.send.model, "Model for this turn.");
  send->add_flag("--json", line.send.as_json, "Print the events, one JSON object a line.");
  send->add_flag("--detach", line.send.detach, "Print the turn's id and do not wait for it.");
  add_server(send, line);
  send->footer(send_examples);
}

void add_tail(CLI::App& app, command_line& line) {
  auto* tail = app.add_subcommand("tail", "Print the events of a workspace");
  add_workspace(tail, line.tail.workspace, "Its name.");
  tail->add_option("--after", line.tail.after, "Start after this offset (1042 or 3-1042).")
    ->type_name("<offset>");
  tail->add_flag("-f,--follow", line.tail.follow, "Go on with the events to come.");
  tail->add_flag("--json", line.tail.as_json,
                 "Print the events as they are, one JSON object a line.");
  add_server(tail, line);
  tail->footer(tail_examples);
}

/// A moment, or how long ago it was, as RFC 3339.
void add_moment(CLI::App* to, const char* name, std::string& into, const char* what) {
  const auto read = [name, &into](const std::string& text) {
    const auto ago = parse_duration(text);
    const auto moment = ago ? expected<timestamp>{now_utc().plus(-*ago)} : parse_iso8601(text);
    if (!moment)
      throw CLI::ValidationError{name, moment.error().message + ", or 2h for two hours ago"};
    into = iso8601(*moment);
  };
  to->add_option_function<std::string>(name, read, what)->type_name("<time>");
}

void add_events(CLI::App& app, command_line& line) {
  auto* events = app.add_subcommand("events", "Find, follow and export events of all workspaces");
  auto& what = line.events;
  events->add_option("--type", what.types, "Only of these types; item.* takes a family.")
    ->type_name("<type,type…>")
    ->delimiter(',');
  events->add_option("--workspace", what.workspaces, "Only of these workspaces.")
    ->type_name("<name,name…>")
    ->delimiter(',');
  events->add_option("--turn", what.turn, "Only of this turn.")->type_name("<id>");
  events->add_option("--tool", what.tool, "Only calls of this tool and permissions for it.")
    ->type_name("<name>");
  events->add_option("--outcome", what.outcome, "Only ends of turns that came out so.")
    ->check(CLI::IsMember({"succeeded", "failed", "cancelled", "interrupted"}));
  events->add_option("--text", what.text, "Only events whose data holds this, letter for letter.")
    ->type_name("<text>");
  add_moment(events, "--since", what.since, "Not before this.");
  add_moment(events, "--until", what.until, "Before this.");
  events->add_option("--after", what.after, "Go on after this position of the log.")
    ->type_name("<position>");
  events->add_option("-n,--limit", what.limit, "At most so many.")->type_name("<count>");
  events->add_flag("--newest", what.newest, "Newest first.");
  events->add_flag("-f,--follow", what.follow, "Go on with the events to come.");
  events->add_flag("--raw", what.raw, "With the agents' own lines (NDJSON).");
  const auto choose = [&what](const std::string& text) {
    what.format = text == "ndjson" ? events_format::ndjson
                  : text == "csv"  ? events_format::csv
                                   : events_format::text;
  };
  events->add_option_function<std::string>("--format", choose, "How; csv is RFC 4180.")
    ->check(CLI::IsMember({"text", "ndjson", "csv"}));
  events->add_option("-o,--output", what.output, "Write to this file.")->type_name("<path>");
  add_server(events, line);
  events->footer(events_examples);
}

void add_turns(CLI::App& app, command_line& line) {
  auto* turns = app.add_subcommand("turns", "List the turns of a workspace, newest first");
  add_workspace(turns, line.turns.workspace, "Its name.");
  turns->add_option("-n,--limit", line.turns.limit, "At most so many (500).")
    ->check(CLI::Range(1, 500))
    ->type_name("<count>");
  turns->add_flag("--json", line.turns.as_json, "Print the server's answer.");
  add_server(turns, line);
  auto* show = app.add_subcommand("show", "Print one turn as people read it");
  show->add_option("turn", line.show.turn, "Its id, as `turns` and events name it.")->required();
  show->add_flag("--full", line.show.full, "Tools' output and reasoning whole.");
  show->add_flag("--json", line.show.as_json, "The events that it is made of, one a line.");
  add_server(show, line);
  auto* diff = app.add_subcommand("diff", "Print what one turn changed in the files");
  diff->add_option("turn", line.diff.turn, "Its id, as `turns` and events name it.")->required();
  diff->add_flag("--stat", line.diff.names_only, "Only which files, and how many lines.");
  diff->add_flag("--json", line.diff.as_json, "The same as JSON.");
  diff->footer(
    "The server records this if agent.snapshots is on (TIDEMARK_AGENT_SNAPSHOTS=true) and git is "
    "installed.");
  add_server(diff, line);
}

void add_permissions(CLI::App& app, command_line& line) {
  auto& what = line.permissions;
  auto* list = app.add_subcommand("permissions", "List what agents wait for people to decide");
  list->add_option("workspace", what.workspace, "Only of this one, and with its rules.");
  list->add_option("--forget", what.forget, "Remove this rule of the workspace.")
    ->type_name("<rule>")
    ->needs("workspace");
  list->add_flag("--json", what.as_json, "The same as JSON.");
  list->footer("People are asked if the server's setting permissions.ask says so.");
  add_server(list, line);
  auto& say = line.decide;
  auto* decide = app.add_subcommand("decide", "Decide on what an agent waits for");
  decide->add_option("workspace", say.workspace)->required();
  decide->add_option("permission", say.permission, "Its id, as `permissions` names it.")
    ->required();
  decide->add_option("decision", say.decision, "allow, always (stores a rule) or deny.")
    ->required()
    ->check(CLI::IsMember({"allow", "always", "deny"}));
  decide->add_option("--message", say.message, "For the agent, with a denial.");
  decide->add_option("--answer", say.answers,
                     "To a question: <its text>=<answer>; again for each.");
  add_server(decide, line);
}

void add_consumers(CLI::App& app, command_line& line) {
  auto* consumers =
    app.add_subcommand("consumers", "List the consumers of a workspace and how far each is behind");
  add_workspace(consumers, line.consumers.workspace, "Its name.");
  consumers->add_flag("--json", line.consumers.as_json, "Print the server's answer.");
  add_server(consumers, line);
}

void add_token(CLI::App& app, command_line& line) {
  auto* token = app.add_subcommand("token", "Make, list and revoke tokens for callers of the API");
  token->require_subcommand(1);
  token->footer(token_examples);
  auto* create = token->add_subcommand("create", "Make a token and print it, this once");
  create->add_option("name", line.token.name, "Stands in events as who asked.")->required();
  create->add_option("--scope", line.token.scopes, "What it grants: read, write, admin.")
    ->type_name("<scope,scope…>")
    ->delimiter(',')
    ->required();
  const auto lifetime = [&line](const std::string& text) {
    const auto given = parse_duration(text);
    if (!given)
      throw CLI::ValidationError{"--expires", given.error().message};
    if (given->count() == 0 || *given > max_token_lifetime)
      throw CLI::ValidationError{"--expires", "must be more than nothing and at most 36500d"};
    line.token.lifetime = *given;
  };
  create->add_option_function<std::string>("--expires", lifetime, "When it ends by itself.")
    ->type_name("<duration>");
  create->callback([&line] { line.token.action = token_options::create; });
  add_settings(create, line, {"http.tokens_file"});
  auto* list = token->add_subcommand("list", "Names, ids, scopes and ends of all tokens");
  list->callback([&line] { line.token.action = token_options::list; });
  add_settings(list, line, {"http.tokens_file"});
  auto* revoke = token->add_subcommand("revoke", "Take tokens away");
  revoke->add_option("name", line.token.name, "Name (all tokens of it) or id.")->required();
  revoke->callback([&line] { line.token.action = token_options::revoke; });
  add_settings(revoke, line, {"http.tokens_file"});
}

void add_backup(CLI::App& app, command_line& line) {
  auto* backup = app.add_subcommand("backup", "Back up the log of a running server");
  backup
    ->add_option("target", line.backup.target,
                 "A directory, where backups share what they have in common; or a file *.tar.zst, "
                 "which holds one whole.")
    ->required()
    ->type_name("<path>");
  auto* verify = backup->add_flag("--verify", line.backup.verify,
                                  "Check the backups that are there; no server is asked.");
  auto* prune = backup->add_flag(
    "--prune", line.backup.prune,
    "Remove backups that no --keep… keeps, and all that none needs; no server is asked.");
  prune->excludes(verify);
  backup
    ->add_option_function<std::size_t>(
      "--keep-last,--keep", [&line](std::size_t count) { line.backup.keep.last = count; },
      "With --prune: keep the newest so many.")
    ->check(CLI::Range(1, 1'000'000))
    ->type_name("<count>")
    ->needs(prune);
  const auto within = [&line](const std::string& text) {
    const auto given = parse_duration(text);
    if (!given)
      throw CLI::ValidationError{"--keep-within", given.error().message};
    line.backup.keep.within = *given;
  };
  backup
    ->add_option_function<std::string>(
      "--keep-within", within, "With --prune: keep those of this time before the newest (30d).")
    ->type_name("<duration>")
    ->needs(prune);
  backup->add_flag("--overwrite", line.backup.overwrite, "Replace the file, if it is there.")
    ->excludes(verify)
    ->excludes(prune);
  add_server(backup, line);
  backup->footer(backup_examples);
  auto* restore = app.add_subcommand("restore", "Put a backup into an empty data directory");
  restore->add_option("source", line.restore.source, "A directory of backups, or a file *.tar.zst.")
    ->required()
    ->type_name("<path>");
  add_moment(restore, "--at", line.restore.at, "The newest backup that is not later than this.");
  add_settings(restore, line, {"data.dir"});
}

void add_others(CLI::App& app, command_line& line) {
  auto* workspaces = app.add_subcommand("workspaces", "List the workspaces");
  workspaces->add_flag("--json", line.workspaces_json, "Print the server's answer.");
  add_server(workspaces, line);
  auto* checkpoint =
    app.add_subcommand("checkpoint", "Write down where all events end, signed, to verify against");
  checkpoint
    ->add_option("--sign", line.checkpoint.sign, "Private Ed25519 key to sign it with (PEM).")
    ->type_name("<path>");
  checkpoint->add_option("-o,--output", line.checkpoint.output, "Write to this file.")
    ->type_name("<path>");
  checkpoint->add_flag("--overwrite", line.checkpoint.overwrite,
                       "Replace the output, if it is there.");
  checkpoint
    ->add_option("--new-key", line.checkpoint.new_key,
                 "Only make a key: the private one into this file, the public one to stdout.")
    ->type_name("<path>");
  add_server(checkpoint, line);
  checkpoint->footer(checkpoint_examples);
  auto* verify = app.add_subcommand("verify", "Prove that a workspace's events are unaltered");
  add_workspace(verify, line.verify.workspace,
                "Its name; with --checkpoint also without: all that it names.");
  verify->get_option("workspace")->required(false);
  verify
    ->add_option("--checkpoint", line.verify.checkpoint,
                 "Compare with this file of `tidemark checkpoint`: nothing may be missing.")
    ->type_name("<path>");
  verify
    ->add_option("--public-key", line.verify.public_key,
                 "Public Ed25519 key (PEM) of who must have signed the checkpoint.")
    ->type_name("<path>");
  verify->add_flag("--offline", line.verify.offline,
                   "Read the data directory itself. Refused while a server runs on it.");
  add_server(verify, line);
  add_settings(verify, line, {"data.dir"});
  auto* show = app.add_subcommand("config", "Print all settings and where each comes from");
  show->add_flag("--json", line.config_json, "As one JSON object.");
  show->add_flag("--markdown", line.config_markdown,
                 "All settings as a table, for the documentation.");
  add_settings_unlisted(show, line);
  add_settings_unlisted(
    app.add_subcommand("doctor", "Check what the server needs, each finding with its remedy"),
    line);
  app.add_subcommand("version", "Print the version");
}

} // namespace

void describe(CLI::App& app, command_line& line) {
  app.description(overview);
  app.require_subcommand(1);
  app.footer(exit_codes);
  app.set_version_flag("--version", std::string{"tidemark " TIDEMARK_VERSION});
  auto* serve = app.add_subcommand("serve", "Run the server");
  add_settings(serve, line);
  serve->footer(serve_examples);
  add_send(app, line);
  add_tail(app, line);
  add_events(app, line);
  add_turns(app, line);
  add_permissions(app, line);
  add_consumers(app, line);
  add_token(app, line);
  add_backup(app, line);
  add_others(app, line);
}

} // namespace tidemark
