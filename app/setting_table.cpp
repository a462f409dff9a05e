#include "app/setting_table.hpp"

#include "app/closest_word.hpp"
#include "app/setting_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <type_traits>
#include <utility>

namespace tidemark {
namespace {

using texts = std::vector<std::string>;

constexpr std::uint64_t unbounded = std::numeric_limits<std::uint32_t>::max();

template <class Get>
setting text(std::string key, std::string allowed, std::string meaning, Get get) {
  setting s{std::move(key), std::move(allowed), std::move(meaning)};
  s.read = [get](settings& to, std::string_view value) -> expected<void> {
    get(to) = std::string{value};
    return {};
  };
  s.show = [get](const settings& from) { return std::string{get(from)}; };
  return s;
}

/// One that has no meaning when it is empty.
setting required(setting s) {
  s.read = [read = std::move(s.read)](settings& to, std::string_view value) -> expected<void> {
    if (value.empty())
      return fail(errc::invalid_argument, "must not be empty");
    return read(to, value);
  };
  return s;
}

template <class Get>
setting number(std::string key, std::string meaning, Get get, std::uint64_t lowest = 1,
               std::uint64_t highest = unbounded) {
  setting s{std::move(key), "<number>", std::move(meaning)};
  s.read = [=](settings& to, std::string_view value) -> expected<void> {
    auto& member = get(to);
    return parse_number(value, lowest, highest).map([&](std::uint64_t v) {
      member = static_cast<std::remove_reference_t<decltype(member)>>(v);
    });
  };
  s.show = [get](const settings& from) { return std::to_string(get(from)); };
  return s;
}

template <class Get>
setting bytes(std::string key, std::string meaning, Get get) {
  setting s{std::move(key), "<size>", std::move(meaning)};
  s.read = [get](settings& to, std::string_view value) -> expected<void> {
    return parse_bytes(value).map([&](std::uint64_t v) { get(to) = v; });
  };
  s.show = [get](const settings& from) { return show_bytes(get(from)); };
  return s;
}

template <class Get>
setting duration(std::string key, std::string meaning, Get get) {
  setting s{std::move(key), "<duration>", std::move(meaning)};
  s.read = [get](settings& to, std::string_view value) -> expected<void> {
    auto& member = get(to);
    using member_type = std::remove_reference_t<decltype(member)>;
    const auto given = parse_duration(value);
    if (!given)
      return tl::unexpected(given.error());
    const auto rounded = std::chrono::duration_cast<member_type>(*given);
    if (rounded.count() == 0)
      return fail(errc::invalid_argument,
                  fmt::format("must be at least {}", show_duration(member_type{1})));
    member = rounded;
    return {};
  };
  s.show = [get](const settings& from) { return show_duration(get(from)); };
  return s;
}

/// One whose absence is 0.
template <class Get>
setting duration_or_none(std::string key, std::string meaning, Get get) {
  setting s{std::move(key), "<duration>", std::move(meaning)};
  s.read = [get](settings& to, std::string_view value) -> expected<void> {
    return parse_duration(value).map([&](std::chrono::milliseconds v) { get(to) = v; });
  };
  s.show = [get](const settings& from) { return show_duration(get(from)); };
  return s;
}

template <class Get>
setting toggle(std::string key, std::string meaning, Get get) {
  setting s{std::move(key), std::string{toggle_values}, std::move(meaning)};
  s.read = [get](settings& to, std::string_view value) -> expected<void> {
    return parse_toggle(value).map([&](bool v) { get(to) = v; });
  };
  s.show = [get](const settings& from) { return std::string{get(from) ? "true" : "false"}; };
  return s;
}

template <class Get>
setting list(std::string key, std::string meaning, Get get) {
  setting s{std::move(key), "<name,name…>", std::move(meaning)};
  s.read = [get](settings& to, std::string_view value) -> expected<void> {
    get(to) = parse_list(value);
    return {};
  };
  s.show = [get](const settings& from) { return show_list(get(from)); };
  return s;
}

template <class Value>
using named_values = std::vector<std::pair<std::string, Value>>;

template <class Value, class Get>
setting choice(std::string key, std::string meaning, named_values<Value> values, Get get) {
  texts names;
  for (const auto& [name, value] : values)
    names.push_back(name);
  setting s{std::move(key), fmt::format("{}", fmt::join(names, "|")), std::move(meaning)};
  s.read = [=](settings& to, std::string_view given) -> expected<void> {
    for (const auto& [name, value] : values)
      if (name == given) {
        get(to) = value;
        return {};
      }
    return fail(errc::invalid_argument, fmt::format("must be one of {}", fmt::join(names, ", ")));
  };
  s.show = [=](const settings& from) {
    for (const auto& [name, value] : values)
      if (value == get(from))
        return name;
    return std::string{};
  };
  return s;
}

setting named(setting s, texts environment, texts flags = {}) {
  s.other_environment = std::move(environment);
  s.other_flags = std::move(flags);
  return s;
}

setting secret(setting s) {
  s.secret = true;
  return s;
}

// Reaches one member of `settings`, constant or not.
#define MEMBER(path)                                                                               \
  [](auto& s) -> auto& {                                                                           \
    return s.path;                                                                                 \
  }

std::vector<setting> places() {
  return {
    required(text("data.dir", "<path>",
                  "Directory of the log; by default also of workspaces and agents.",
                  MEMBER(data_directory))),
    named(text("workspace.root", "<path>",
               "One directory a workspace below it; default `<data.dir>/workspaces`.",
               MEMBER(agent.workspace_root)),
          {"WORKSPACE_ROOT"}),
  };
}

std::vector<setting> http_settings() {
  return {
    named(text("http.host", "<address>", "Address to listen on; any but loopback needs a token.",
               MEMBER(http.host)),
          {"HOST"}, {"--host"}),
    named(number("http.port", "Port to listen on; 0 takes a free one, printed at start.",
                 MEMBER(http.port), 0, 65535),
          {"PORT"}, {"--port"}),
    secret(named(text("http.token", "<text>",
                      "Bearer token that clients must send, with all scopes; with no token at all "
                      "only loopback is "
                      "served.",
                      MEMBER(http.token)),
                 {"INTERNAL_API_TOKEN"})),
    text("http.tokens_file", "<path>",
         "Further tokens, by name and with scopes; `tidemark token` writes it. Read again when it "
         "changes.",
         MEMBER(http.tokens_file)),
    named(toggle("http.insecure_no_auth",
                 "Serve other addresses without a token: anyone who reaches the port runs code.",
                 MEMBER(http.insecure_no_auth)),
          {}, {"--insecure-no-auth"}),
    number("http.threads", "I/O threads of the HTTP server.", MEMBER(http.threads), 1, 64),
    bytes("http.max_body", "Largest request body.", MEMBER(http.max_body_bytes)),
    bytes("http.max_header", "Largest request header.", MEMBER(http.max_header_bytes)),
    number("http.max_connections", "Connections at a time.", MEMBER(http.max_connections)),
    number("http.max_readers", "Event streams at a time.", MEMBER(http.max_readers)),
    duration("http.request_timeout", "Time to send one whole request.",
             MEMBER(http.request_timeout)),
    duration("http.idle_timeout", "Time between requests of one connection.",
             MEMBER(http.idle_timeout)),
    duration("http.write_timeout",
             "A client that takes, or whose machine acknowledges, no byte for this long is "
             "dropped.",
             MEMBER(http.write_timeout)),
    duration("http.heartbeat", "Time between comment lines on a quiet stream.",
             MEMBER(http.heartbeat)),
    duration("http.proof_of_life", "Time between empty chunks of a quiet v1 stream.",
             MEMBER(http.proof_of_life)),
    duration("http.answer_deadline", "Time for a workspace to answer a command.",
             MEMBER(http.answer_deadline)),
    duration("http.max_wait", "Longest long poll.", MEMBER(http.max_wait)),
  };
}

std::vector<setting> agent_settings() {
  const named_values<std::string> kinds{{"auto", "auto"}, {"claude", "claude"}, {"demo", "demo"}};
  const named_values<policy> policies{
    {"relaxed", policy::relaxed}, {"agent", policy::agent}, {"strict", policy::strict}};
  return {
    named(choice("agent.kind",
                 "Which agent runs; `auto`: `claude` if its CLI is found, else `demo`.", kinds,
                 MEMBER(agent.kind)),
          {"TIDEMARK_AGENT"}, {"--agent"}),
    named(text("agent.binary", "<path>",
               "The agent's executable; default: `claude` from PATH, or our demo agent.",
               MEMBER(agent.binary)),
          {"TIDEMARK_CLAUDE_BIN"}),
    named(choice("agent.policy", "What agents may do.", policies, MEMBER(agent.rights)),
          {"RUNTIME_POLICY"}, {"--policy"}),
    named(toggle("agent.skip_permissions", "No permission prompts at all.",
                 MEMBER(agent.skip_permissions)),
          {"SKIP_PERMISSIONS"}),
    named(
      text(
        "agent.settings_path", "<path>",
        "JSON file of model providers, read again before each turn; default `data/settings.json`.",
        MEMBER(agent.settings_path)),
      {"SETTINGS_PATH"}),
    list("agent.env", "Variables of the server's environment that agents may see.",
         MEMBER(agent.passed_names)),
    text("agent.state_dir", "<path>",
         "Homes and configuration of agents; default `<data.dir>/agents`.",
         MEMBER(agent.state_directory)),
    text("agent.guard", "<path>",
         "The process guard; default: `tidemark-guard` beside this executable.",
         MEMBER(agent.guard)),
    number(
      "agent.max_live",
      "Agent processes at a time; the longest idle one gives way, a turn waits while all are busy.",
      MEMBER(agent.max_live)),
    duration("agent.idle_limit", "An idle agent process is stopped after this.",
             MEMBER(agent.idle_limit)),
    duration("agent.silence_limit", "A turn without any output is ended after this.",
             MEMBER(agent.silence_limit)),
    duration("agent.interrupt_grace", "In-band interrupt before escalation.",
             MEMBER(agent.interrupt_grace)),
    duration("agent.kill_grace", "SIGTERM before SIGKILL.", MEMBER(agent.kill_grace)),
    duration("agent.probe_limit", "Time for the agent to tell its version and tools.",
             MEMBER(agent.probe_limit)),
    toggle(
      "agent.snapshots",
      "Record the workspace's files before and after each turn, for `tidemark diff`; needs git.",
      MEMBER(agent.snapshots)),
    duration("agent.snapshot_limit", "Time for one such record; a turn that takes longer has none.",
             MEMBER(agent.snapshot_limit)),
    bytes("agent.max_line", "Longest line of an agent's output kept whole.",
          MEMBER(agent.max_line_bytes)),
    bytes("agent.max_unsynced", "Output that waits for the log before reading pauses.",
          MEMBER(agent.max_unsynced_bytes)),
  };
}

std::vector<setting> log_settings() {
  const named_values<durability> when{{"sync", durability::sync}, {"os", durability::os}};
  return {
    named(
      choice(
        "log.durability",
        "`sync`: an event is shown after it survives power loss; `os`: after it survives a kill.",
        when, MEMBER(log.when_done)),
      {"TIDEMARK_DURABILITY"}, {"--durability"}),
    bytes(
      "log.min_free",
      "Appends are refused while the disk has less than this left, or less than a tenth of it if "
      "that is smaller.",
      MEMBER(log.min_free_bytes)),
    bytes("log.max_wal", "Write-ahead log size that forces a flush; bounds the time of a restart.",
          MEMBER(log.max_wal_bytes)),
    bytes("log.blob_threshold", "Raw lines over this size go to files beside the database.",
          MEMBER(log.blob_threshold)),
    toggle("log.accept_wal_loss",
           "Open although the write-ahead log is damaged before its tail, missing or emptied.",
           MEMBER(log.accept_wal_loss)),
    number("log.batch_events", "Most events in one commit.", MEMBER(batch_events)),
    bytes("log.batch_bytes", "Most bytes in one commit.", MEMBER(batch_bytes)),
    bytes("tail.max_bytes", "Memory for the newest events of all workspaces.", MEMBER(tail_bytes)),
    bytes("tail.max_stream_bytes", "Memory for the newest events of one workspace.",
          MEMBER(tail_stream_bytes)),
  };
}

std::vector<setting> workspace_settings() {
  return {
    number("workspace.max_queued", "Turns that may wait in one workspace.",
           MEMBER(rules.max_queued)),
    bytes("workspace.max_prompt", "Largest prompt.", MEMBER(rules.max_prompt_bytes)),
    number("workspace.max_idempotency_keys", "Idempotency keys remembered by one workspace.",
           MEMBER(rules.max_idempotency_keys)),
    duration("workspace.pending_ttl", "How long an undelivered result is kept.",
             MEMBER(rules.pending_ttl)),
    number("workspace.auth_failures",
           "Failed logins or used-up limits in a row before the queue pauses.",
           MEMBER(rules.auth_failures_before_pause)),
    duration(
      "workspace.auth_pause",
      "How long such a queue waits before it tries again; if a limit says when it ends, up to 1 h.",
      MEMBER(rules.auth_pause)),
    number("workspace.snapshot_every",
           "Events between snapshots; bounds the time of a recovery. Large snapshots keep more "
           "between them.",
           MEMBER(rules.snapshot_every)),
    duration("workspace.idle_after", "A quiet workspace leaves memory after this.",
             MEMBER(workspace_idle)),
    number("workspace.max_restarts",
           "Restarts after faults in a row before a workspace stays down.",
           MEMBER(workspace_restarts)),
  };
}

std::vector<setting> retention_settings() {
  return {
    duration_or_none("retain.age",
                     "Turns that ended longer ago are removed with their events; 0s keeps them.",
                     MEMBER(retain.age)),
    bytes("retain.bytes",
          "Bytes of events that one workspace keeps; its oldest turns go. 0 keeps all.",
          MEMBER(retain.bytes)),
    number("retain.turns", "Turns that one workspace keeps; its oldest go. 0 keeps all.",
           MEMBER(retain.turns), 0),
    duration_or_none("retain.deltas",
                     "Deltas of items that have been complete for longer lose their text and raw "
                     "line, which the completed item has; 0s keeps them.",
                     MEMBER(retain.deltas)),
    duration("retain.sweep", "How often it is looked for what may go.", MEMBER(retain_sweep)),
  };
}

std::vector<setting> shell_settings() {
  return {
    toggle("shell.enabled", "Clients may open shells.", MEMBER(shell.enabled)),
    number("shell.max", "Shells at a time.", MEMBER(shell.max)),
    number("shell.max_per_workspace", "Shells at a time in one workspace.",
           MEMBER(shell.max_per_workspace)),
    bytes("shell.scrollback", "Output of a shell that a client gets when it attaches.",
          MEMBER(shell.scrollback_bytes)),
    bytes("shell.max_message", "Largest message of a shell's client.",
          MEMBER(shell.max_message_bytes)),
    duration("shell.idle_timeout", "A shell without a client is ended after this.",
             MEMBER(shell.idle_timeout)),
    duration("shell.hangup_grace", "Time that a shell has to end after its hang-up.",
             MEMBER(shell.hangup_grace)),
  };
}

std::vector<setting> permission_settings() {
  const named_values<ask_people> modes{
    {"never", ask_people::never}, {"denied", ask_people::denied}, {"all", ask_people::all}};
  return {
    choice(
      "permissions.ask",
      "Which requests of agents wait for a person: `denied`: those that the policy would deny; "
      "`all`: every one that no stored rule allows.",
      modes, MEMBER(rules.ask)),
    duration("permissions.timeout", "A request that nobody has decided by then is denied.",
             MEMBER(rules.permission_timeout)),
  };
}

std::vector<setting> consumer_settings() {
  return {
    number("consumers.max", "Consumers of one workspace, webhooks included.",
           MEMBER(rules.max_consumers)),
    toggle("webhooks.allow_private",
           "Webhooks may lead to loopback, link-local and private addresses.",
           MEMBER(webhooks.allow_private)),
    duration("webhooks.timeout", "Time of one attempt to deliver an event.",
             MEMBER(webhooks.timeout)),
    duration("webhooks.first_retry", "Wait after a first failed attempt; doubled with each more.",
             MEMBER(webhooks.first_retry)),
    duration("webhooks.longest_retry", "Longest wait between two attempts.",
             MEMBER(webhooks.longest_retry)),
    number("webhooks.max_transfers",
           "Quick deliveries at a time; slow and failing ones have four times as many places.",
           MEMBER(webhooks.max_transfers), 1, 1000),
  };
}

std::vector<setting> server_settings() {
  using logging::level;
  const named_values<level> levels{{"debug", level::debug},
                                   {"info", level::info},
                                   {"warning", level::warning},
                                   {"error", level::error}};
  return {
    choice("server.log_level", "Lowest level written to stderr.", levels, MEMBER(log_level)),
    duration("server.shutdown_limit", "Time from the first signal to the forced end.",
             MEMBER(shutdown_limit)),
    toggle("server.core_dumps",
           "Allow core files and debuggers; agents of the same user can then read the server's "
           "memory.",
           MEMBER(core_dumps)),
    named(toggle("server.passive",
                 "Nothing happens by itself: no queued task starts, no webhook is sent, retention "
                 "removes nothing. For a look at a restored log.",
                 MEMBER(passive)),
          {}, {"--passive"}),
    number("server.threads", "Threads that run workspaces; 0: one a core.", MEMBER(worker_threads),
           0, 256),
    number("server.blocking_threads", "Threads for reads that go to the disk.",
           MEMBER(blocking_threads), 1, 256),
  };
}

#undef MEMBER

std::vector<setting> build_table() {
  std::vector<setting> table;
  for (auto part : {places(), http_settings(), agent_settings(), log_settings(),
                    workspace_settings(), retention_settings(), shell_settings(), server_settings(),
                    permission_settings(), consumer_settings()})
    std::move(part.begin(), part.end(), std::back_inserter(table));
  return table;
}

std::string key_with(std::string key, char separator) {
  std::replace_if(
    key.begin(), key.end(), [](char c) { return c == '.' || c == '_'; }, separator);
  return key;
}

} // namespace

std::string setting::flag() const {
  return secret ? std::string{} : "--" + key_with(key, '-');
}

std::string setting::environment() const {
  auto name = "TIDEMARK_" + key_with(key, '_');
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return name;
}

std::span<const setting> all_settings() {
  static const auto table = build_table();
  return table;
}

const setting* find_setting(std::string_view key) {
  const auto table = all_settings();
  const auto found =
    std::find_if(table.begin(), table.end(), [&](const setting& s) { return s.key == key; });
  return found == table.end() ? nullptr : &*found;
}

std::string closest_setting(std::string_view key) {
  std::vector<std::string> keys;
  for (const auto& s : all_settings())
    keys.push_back(s.key);
  return closest_word(key, keys, 4);
}

std::string settings_as_markdown() {
  std::string out =
    "| setting | environment | default | allowed | meaning |\n| --- | --- | --- | --- | --- |\n";
  const settings defaults;
  for (const auto& s : all_settings()) {
    auto names = s.other_environment;
    names.push_back(s.environment());
    auto allowed = s.allowed;
    for (auto at = allowed.find('|'); at != std::string::npos; at = allowed.find('|', at + 2))
      allowed.replace(at, 1, "\\|");
    const auto initial = s.show(defaults);
    out += fmt::format("| `{}` | `{}` | {} | `{}` | {} |\n", s.key, fmt::join(names, "` `"),
                       initial.empty() ? "" : "`" + initial + "`", allowed, s.text);
  }
  return out;
}

} // namespace tidemark
