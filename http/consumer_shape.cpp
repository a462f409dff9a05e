#include "http/consumer_shape.hpp"

#include "http/find_workspace.hpp"
#include "http/problem.hpp"
#include "storage/hash_chain.hpp"

namespace tidemark {

namespace {

json time_or_null(const std::optional<timestamp>& t) {
  return t ? json(iso8601(*t)) : json(nullptr);
}

/// Enough to tell two secrets apart, not enough to find one that was made at random.
std::string fingerprint_of(const std::string& secret) {
  auto hasher = sha256_hasher{};
  return "sha256:" + to_hex(hasher.of(secret)).substr(0, 12);
}

} // namespace

expected<consumer_address> consumer_address_of(const exchange& with) {
  const auto workspace = workspace_id::parse(with.param("id"));
  if (!workspace)
    return tl::make_unexpected(workspace.error());
  auto name = parse_consumer_name(with.param("name"));
  if (!name)
    return tl::make_unexpected(name.error());
  return consumer_address{workspace->str(), std::move(*name)};
}

expected<json> object_of(const std::string& body) {
  if (body.empty())
    return json::object();
  auto parsed = parse_json(body, 10'000);
  if (!parsed)
    return fail(errc::invalid_argument, "the body is not JSON", parsed.error());
  if (!parsed->is_object())
    return fail(errc::invalid_argument, "the body must be a JSON object");
  return std::move(*parsed);
}

expected<consumer_start> consumer_start_of(const json& body) {
  consumer_start out;
  const auto found = body.find("from");
  if (found == body.end() || found->is_null())
    return out;
  const auto text = found->is_string()           ? found->get<std::string>()
                    : found->is_number_integer() ? found->dump()
                                                 : std::string{};
  if (text == "first")
    return out;
  if (text == "head") {
    out.where = start_at::head;
    return out;
  }
  const auto place = cursor::parse(text);
  if (!place)
    return fail(errc::invalid_argument,
                "field \"from\": must be \"first\", \"head\" or a cursor like \"1-42\"");
  out.where = start_at::cursor;
  out.after = *place;
  return out;
}

void skip_removed(consumer_start& from, const event_log& log, const std::string& workspace) {
  const auto stream = log.find(workspace);
  if (from.where != start_at::first || !stream || stream->trimmed == offset{})
    return;
  from.where = start_at::cursor;
  from.after = cursor{stream->incarnation, stream->trimmed};
}

json shown(const consumer& who, const stream_info& stream) {
  auto out = json::object();
  out["workspace"] = stream.name;
  out["name"] = who.name;
  out["epoch"] = who.incarnation.value;
  out["offset"] = who.at.value;
  out["cursor"] = cursor{who.incarnation, who.at}.str();
  out["head"] = stream.head.value;
  out["lag"] = lag_of(who, stream);
  out["created"] = iso8601(who.created);
  out["by"] = who.by;
  out["acked"] = time_or_null(who.acked);
  if (!who.push)
    return out;
  const auto& push = *who.push;
  auto hook = json::object();
  hook["url"] = push.url;
  hook["secret"] = fingerprint_of(push.secret);
  hook["types"] = push.types;
  hook["max_attempts"] = push.max_attempts;
  hook["state"] = push.dead ? "dead" : "active";
  hook["error"] = push.dead ? json(push.error) : json(nullptr);
  out["webhook"] = std::move(hook);
  return out;
}

task<expected<placed_consumer>> find_placed(exchange& with, consumer_address where) {
  const auto* log = &with.services().log;
  const auto read = [log, at = std::move(where)]() -> expected<placed_consumer> {
    auto stream = find_workspace(*log, at.workspace);
    if (!stream)
      return tl::make_unexpected(stream.error());
    auto who = stored_consumer(*log, at.workspace, at.name);
    if (!who)
      return tl::make_unexpected(who.error());
    return placed_consumer{std::move(*who), std::move(*stream)};
  };
  co_return co_await with.blocking(read);
}

task<void> send_placed(exchange& with, const char* member, bool webhooks_only) {
  const auto workspace = workspace_id::parse(with.param("id"));
  if (!workspace) {
    co_await send_error(with, workspace.error());
    co_return;
  }
  const auto* log = &with.services().log;
  const auto read = [log, id = workspace->str(), webhooks_only]() -> expected<json> {
    const auto stream = find_workspace(*log, id);
    if (!stream)
      return tl::make_unexpected(stream.error());
    const auto all = stored_consumers(*log, id);
    if (!all)
      return tl::make_unexpected(all.error());
    auto out = json::array();
    for (const auto& [name, who] : *all)
      if (who.push || !webhooks_only)
        out.push_back(shown(who, *stream));
    return out;
  };
  auto found = co_await with.blocking(read);
  if (!found) {
    co_await send_error(with, found.error());
    co_return;
  }
  auto body = json::object();
  body[member] = std::move(*found);
  co_await with.send(200, dump_json(body));
}

} // namespace tidemark
