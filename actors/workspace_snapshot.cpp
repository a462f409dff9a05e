#include "actors/workspace_core.hpp"

#include <ranges>

namespace tidemark {
namespace {

constexpr int snapshot_version = 1;

json optional_ns(const std::optional<timestamp>& t) {
  return t ? json(t->nanoseconds) : json(nullptr);
}

std::optional<timestamp> optional_ns_at(const json& object, const char* key) {
  if (!object.contains(key) || !object[key].is_number_integer())
    return std::nullopt;
  return timestamp{int_or(object, key, 0)};
}

json pack(const turn_record& t) {
  json r = json::object();
  r["turn"] = t.turn;
  r["source"] = t.source;
  r["prompt"] = t.prompt;
  r["preview"] = t.preview;
  r["model"] = t.model;
  r["queued_at"] = t.queued_at.value;
  r["enqueued"] = t.enqueued.nanoseconds;
  r["started"] = optional_ns(t.started);
  r["timeout_s"] = t.timeout ? json(t.timeout->count()) : json(nullptr);
  r["retry"] = t.on_restart == restart_rule::retry;
  r["needs_environment"] = t.needs_environment;
  r["holds_result"] = t.holds_result;
  r["attempt"] = t.attempt;
  r["idempotency_key"] = t.idempotency_key;
  r["metadata"] = t.metadata;
  return r;
}

turn_record unpack_turn(const json& r) {
  turn_record t;
  t.turn = string_or(r, "turn");
  t.source = string_or(r, "source");
  t.prompt = string_or(r, "prompt");
  t.preview = string_or(r, "preview");
  t.model = string_or(r, "model");
  t.queued_at = offset{static_cast<std::uint64_t>(int_or(r, "queued_at", 0))};
  t.enqueued = timestamp{int_or(r, "enqueued", 0)};
  t.started = optional_ns_at(r, "started");
  if (const auto limit = int_or(r, "timeout_s", 0); limit > 0)
    t.timeout = std::chrono::seconds{limit};
  t.on_restart = bool_or(r, "retry", false) ? restart_rule::retry : restart_rule::interrupt;
  t.needs_environment = bool_or(r, "needs_environment", false);
  t.holds_result = bool_or(r, "holds_result", false);
  t.attempt = static_cast<int>(int_or(r, "attempt", 0));
  t.idempotency_key = string_or(r, "idempotency_key");
  t.metadata = object_at(r, "metadata");
  return t;
}

json pack(const std::map<std::string, pending_result>& results) {
  auto out = json::array();
  for (const auto& p : std::views::values(results)) {
    json r = json::object();
    r["turn"] = p.turn;
    r["source"] = p.source;
    r["text"] = p.text;
    r["created"] = p.created.nanoseconds;
    r["expires"] = p.expires.nanoseconds;
    r["is_error"] = p.is_error;
    r["error_code"] = p.error_code;
    out.push_back(std::move(r));
  }
  return out;
}

std::map<std::string, pending_result> unpack_results(const json& list) {
  std::map<std::string, pending_result> out;
  for (const auto& r : list) {
    pending_result p;
    p.turn = string_or(r, "turn");
    p.id = p.turn;
    p.source = string_or(r, "source");
    p.text = string_or(r, "text");
    p.created = timestamp{int_or(r, "created", 0)};
    p.expires = timestamp{int_or(r, "expires", 0)};
    p.is_error = bool_or(r, "is_error", false);
    p.error_code = string_or(r, "error_code");
    out[p.id] = std::move(p);
  }
  return out;
}

json pack(const std::map<std::string, open_item>& items) {
  auto out = json::array();
  for (const auto& [id, open] : items) {
    json r = json::object();
    r["id"] = id;
    r["turn"] = open.turn;
    r["item"] = open.item;
    r["text"] = open.text;
    r["size"] = open.size;
    out.push_back(std::move(r));
  }
  return out;
}

std::map<std::string, open_item> unpack_items(const json& list) {
  std::map<std::string, open_item> out;
  for (const auto& r : list) {
    open_item open;
    open.turn = string_or(r, "turn");
    open.item = object_at(r, "item");
    open.text = string_or(r, "text");
    open.size = static_cast<std::size_t>(int_or(r, "size", 0));
    out[string_or(r, "id")] = std::move(open);
  }
  return out;
}

json pack(const std::deque<remembered_key>& keys) {
  auto out = json::array();
  for (const auto& k : keys) {
    json r = json::object();
    r["key"] = k.key;
    r["turn"] = k.turn;
    r["body_hash"] = k.body_hash;
    r["at"] = k.at.value;
    out.push_back(std::move(r));
  }
  return out;
}

json pack(const std::map<std::string, pending_permission>& open) {
  auto out = json::array();
  for (const auto& p : std::views::values(open)) {
    json r = json::object();
    r["id"] = p.id;
    r["turn"] = p.turn;
    r["question"] = p.is_question;
    r["asked"] = p.asked;
    r["requested"] = p.requested.nanoseconds;
    r["expires"] = optional_ns(p.expires);
    out.push_back(std::move(r));
  }
  return out;
}

std::map<std::string, pending_permission> unpack_permissions(const json& list) {
  std::map<std::string, pending_permission> out;
  for (const auto& r : list) {
    pending_permission p;
    p.id =
      r.is_string() ? r.get<std::string>() : string_or(r, "id"); // older versions: the id alone
    p.turn = string_or(r, "turn");
    p.is_question = bool_or(r, "question", false);
    p.asked = object_at(r, "asked");
    p.requested = timestamp{int_or(r, "requested", 0)};
    p.expires = optional_ns_at(r, "expires");
    out[p.id] = std::move(p);
  }
  return out;
}

json pack(const std::deque<settled_permission>& settled) {
  auto out = json::array();
  for (const auto& p : settled) {
    json r = json::object();
    r["id"] = p.id;
    r["decision"] = p.decision;
    r["by"] = p.by;
    out.push_back(std::move(r));
  }
  return out;
}

json pack(const std::vector<permission_rule>& rules) {
  auto out = json::array();
  for (const auto& rule : rules) {
    json r = json::object();
    r["id"] = rule.id;
    r["tool"] = rule.tool;
    r["fingerprint"] = rule.fingerprint;
    r["command"] = rule.command;
    r["by"] = rule.by;
    r["since"] = rule.since.nanoseconds;
    out.push_back(std::move(r));
  }
  return out;
}

permission_rule unpack_rule(const json& r) {
  return {string_or(r, "id"),      string_or(r, "tool"), string_or(r, "fingerprint"),
          string_or(r, "command"), string_or(r, "by"),   timestamp{int_or(r, "since", 0)}};
}

std::vector<std::string> strings(const json& list) {
  std::vector<std::string> out;
  for (const auto& each : list)
    if (each.is_string())
      out.push_back(each.get<std::string>());
  return out;
}

} // namespace

std::string snapshot(const workspace_state& s) {
  json r = json::object();
  r["version"] = snapshot_version;
  r["id"] = s.id;
  r["stream"] = s.stream.value;
  r["epoch"] = s.incarnation.value;
  r["head"] = s.head.value;
  r["created"] = s.created.nanoseconds;
  r["last_time"] = s.last_time.nanoseconds;
  r["agent"] = s.agent;
  r["metadata"] = s.metadata;
  r["session"] = s.session;
  r["tools"] = s.tools ? json(*s.tools) : json(nullptr);
  r["mcp_servers"] = s.mcp_servers;
  r["retain"] = s.retain;
  r["queue"] = json::array();
  for (const auto& turn : s.queue)
    r["queue"].push_back(pack(turn));
  r["running"] = s.running ? pack(*s.running) : json(nullptr);
  r["open_items"] = pack(s.open_items);
  r["open_permissions"] = pack(s.open_permissions);
  r["settled_permissions"] = pack(s.settled_permissions);
  r["permission_rules"] = pack(s.permission_rules);
  r["open_shells"] = s.open_shells;
  r["pending"] = pack(s.pending);
  r["undelivered"] = pack(s.undelivered);
  r["idempotency"] = pack(s.idempotency);
  r["auth_failures"] = s.auth_failures;
  r["paused_until"] = optional_ns(s.paused_until);
  return dump_json(r);
}

expected<workspace_state> restore(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed)
    return fail(errc::corrupt, "a workspace snapshot cannot be read", parsed.error());
  const auto& r = *parsed;
  if (!r.is_object() || int_or(r, "version", 0) < 1)
    return fail(errc::corrupt, "a workspace snapshot holds no state");
  if (int_or(r, "version", 0) > snapshot_version)
    return fail(errc::newer_format, "a workspace snapshot was written by a newer version");
  const auto number = [&](const char* key) {
    return static_cast<std::uint64_t>(int_or(r, key, 0));
  };
  workspace_state s;
  s.id = string_or(r, "id");
  s.stream = stream_id{number("stream")};
  s.incarnation = epoch{number("epoch")};
  s.head = offset{number("head")};
  s.created = timestamp{int_or(r, "created", 0)};
  s.last_time = timestamp{int_or(r, "last_time", 0)};
  s.agent = string_or(r, "agent");
  s.metadata = object_at(r, "metadata");
  s.session = string_or(r, "session");
  if (r.contains("tools") && r["tools"].is_array())
    s.tools = strings(r["tools"]);
  s.mcp_servers = array_at(r, "mcp_servers");
  s.retain = object_at(r, "retain");
  for (const auto& turn : array_at(r, "queue"))
    s.queue.push_back(unpack_turn(turn));
  if (r.contains("running") && r["running"].is_object())
    s.running = unpack_turn(r["running"]);
  s.open_items = unpack_items(array_at(r, "open_items")); // none in snapshots of older versions
  s.open_permissions = unpack_permissions(array_at(r, "open_permissions"));
  for (const auto& p : array_at(r, "settled_permissions"))
    s.settled_permissions.push_back(
      {string_or(p, "id"), string_or(p, "decision"), string_or(p, "by")});
  for (const auto& rule : array_at(r, "permission_rules"))
    s.permission_rules.push_back(unpack_rule(rule));
  for (auto& id : strings(array_at(r, "open_shells")))
    s.open_shells.insert(std::move(id));
  s.pending = unpack_results(array_at(r, "pending"));
  s.undelivered = unpack_results(array_at(r, "undelivered"));
  for (const auto& k : array_at(r, "idempotency"))
    s.idempotency.push_back({string_or(k, "key"), string_or(k, "turn"), string_or(k, "body_hash"),
                             offset{static_cast<std::uint64_t>(int_or(k, "at", 0))}});
  s.auth_failures = number("auth_failures");
  s.paused_until = optional_ns_at(r, "paused_until");
  s.snapshot_at = s.head;
  s.snapshot_bytes = text.size();
  return s;
}

} // namespace tidemark
