#include "actors/consumer.hpp"

#include "base/json.hpp"
#include "base/logging.hpp"

#include <algorithm>

namespace tidemark {

namespace {

json to_json(const webhook& w) {
  json r = json::object();
  r["url"] = w.url;
  r["secret"] = w.secret;
  r["types"] = w.types;
  r["max_attempts"] = w.max_attempts;
  r["generation"] = w.generation;
  r["dead"] = w.dead;
  r["error"] = w.error;
  return r;
}

webhook webhook_of(const json& r) {
  webhook w;
  w.url = string_or(r, "url");
  w.secret = string_or(r, "secret");
  for (const auto& type : array_at(r, "types"))
    if (type.is_string())
      w.types.push_back(type.get<std::string>());
  w.max_attempts =
    static_cast<std::size_t>(std::max<std::int64_t>(1, int_or(r, "max_attempts", 20)));
  w.generation = static_cast<std::uint64_t>(int_or(r, "generation", 0));
  w.dead = bool_or(r, "dead", false);
  w.error = string_or(r, "error");
  return w;
}

/// Calls `take` with the workspace and the consumer of every readable record below `prefix`.
template <class Take>
expected<void> for_each_record(const event_log& log, const std::string& prefix, Take take) {
  return log.scan(table::meta, prefix, false, [&](std::string_view key, std::string_view record) {
    const auto parsed = consumer_of(record);
    const auto path = key.substr(record_key::consumers.size());
    if (parsed)
      take(path.substr(0, path.find('/')), *parsed);
    else // its reader is told that there is none: that is less harm than a workspace that cannot open
      logging::error("consumers", "the record of consumer {} is left out: {}", path,
                     parsed.error().describe());
    return true;
  });
}

} // namespace

expected<std::string> parse_consumer_name(std::string_view text) {
  const auto name = workspace_id::parse(text);
  if (!name)
    return fail(errc::invalid_argument,
                "a consumer's name is 1 to 128 letters, digits, '_', '-' or "
                "'.', not starting with '.'");
  return name->str();
}

offset carried_over(const stream_info& stream, epoch from, offset at) {
  const auto before = std::ranges::find(stream.past, from, &past_epoch::incarnation);
  return before == stream.past.end() ? offset{} : std::min(at, before->last);
}

offset place_in(const stream_info& stream, const consumer& who) {
  if (who.incarnation == stream.incarnation)
    return std::max(who.at, stream.trimmed);
  const auto at = who.push ? carried_over(stream, who.incarnation, who.at) : offset{};
  return std::max(at, stream.trimmed);
}

std::uint64_t lag_of(const consumer& who, const stream_info& stream) {
  const auto from = place_in(stream, who);
  return stream.head > from ? stream.head.value - from.value : 0;
}

namespace record_key {

std::string consumers_of(std::string_view workspace) {
  return std::string{consumers} + std::string{workspace} + "/"; // no workspace id has a slash
}

std::string consumer(std::string_view workspace, std::string_view name) {
  return consumers_of(workspace) + std::string{name};
}

} // namespace record_key

std::string to_record(const consumer& who, std::string_view workspace) {
  json r = json::object();
  r["workspace"] = workspace;
  r["name"] = who.name;
  r["epoch"] = who.incarnation.value;
  r["offset"] = who.at.value;
  r["created_ns"] = who.created.nanoseconds;
  r["by"] = who.by;
  r["acked_ns"] = who.acked ? json(who.acked->nanoseconds) : json(nullptr);
  if (who.push)
    r["webhook"] = to_json(*who.push);
  return dump_json(r);
}

expected<consumer> consumer_of(std::string_view record) {
  const auto parsed = parse_json(record);
  if (!parsed)
    return fail(errc::corrupt, "a consumer's record cannot be read", parsed.error());
  const auto& r = *parsed;
  consumer c;
  c.name = string_or(r, "name");
  const auto incarnation = int_or(r, "epoch", -1);
  const auto at = int_or(r, "offset", -1);
  if (c.name.empty() || incarnation < 0 || at < 0)
    return fail(errc::corrupt, "a consumer's record names no place");
  c.incarnation = epoch{static_cast<std::uint64_t>(incarnation)};
  c.at = offset{static_cast<std::uint64_t>(at)};
  c.created = timestamp{int_or(r, "created_ns", 0)};
  c.by = string_or(r, "by");
  if (const auto acked = r.find("acked_ns"); acked != r.end() && acked->is_number_integer())
    c.acked = timestamp{int_or(r, "acked_ns", 0)};
  if (r.contains("webhook"))
    c.push = webhook_of(object_at(r, "webhook"));
  return c;
}

expected<consumer_map> stored_consumers(const event_log& log, std::string_view workspace) {
  consumer_map out;
  const auto scanned =
    for_each_record(log, record_key::consumers_of(workspace),
                    [&](std::string_view, const consumer& who) { out[who.name] = who; });
  if (!scanned)
    return tl::unexpected(scanned.error());
  return out;
}

expected<consumer> stored_consumer(const event_log& log, std::string_view workspace,
                                   std::string_view name) {
  const auto record = log.get(table::meta, record_key::consumer(workspace, name));
  if (!record)
    return tl::unexpected(record.error());
  if (!*record)
    return fail(errc::not_found, "workspace \"" + std::string{workspace} + "\" has no consumer \""
                                   + std::string{name} + "\"");
  return consumer_of(**record);
}

expected<std::map<std::string, consumer_map>> all_consumers(const event_log& log) {
  std::map<std::string, consumer_map> out;
  const auto scanned = for_each_record(log, std::string{record_key::consumers},
                                       [&](std::string_view workspace, const consumer& who) {
                                         out[std::string{workspace}][who.name] = who;
                                       });
  if (!scanned)
    return tl::unexpected(scanned.error());
  return out;
}

} // namespace tidemark
