#include "http/consumer_shape.hpp"

#include "http/find_workspace.hpp"
#include "http/parse_body.hpp"
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

expected<json> object_of(const std::string& body, std::initializer_list<std::string_view> known) {
  return body.empty() ? expected<json>{json::object()} : parse_members(body, known);
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

url_view url_view_of(const exchange& with) {
  return with.who().is_admin ? url_view::whole : url_view::masked;
}

std::string masked_url(std::string_view url) {
  const auto host = url.find("://");
  if (host == url.npos)
    return "…";
  const auto rest = url.find_first_of("/?#", host + 3);
  const auto shown = std::string{url.substr(0, rest)};
  return rest == url.npos || url.substr(rest) == "/" ? shown + "/" : shown + "/…";
}

json shown(const consumer& who, const stream_info& stream, url_view how,
           const delivery_troubles& troubles) {
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
  const auto failing = push.dead ? troubles.end() : troubles.find(who.name);
  const auto fails = failing != troubles.end();
  auto hook = json::object();
  hook["url"] = how == url_view::whole ? push.url : masked_url(push.url);
  hook["url_fingerprint"] = fingerprint_of(push.url);
  hook["secret"] = fingerprint_of(push.secret);
  hook["types"] = push.types;
  hook["max_attempts"] = push.max_attempts;
  hook["state"] = push.dead ? "dead" : "active";
  hook["error"] = push.dead ? json(push.error)
                  : fails   ? json(failing->second.error)
                            : json(nullptr);
  hook["attempts"] = fails ? failing->second.attempts : 0;
  hook["failed"] = fails ? json(iso8601(failing->second.failed)) : json(nullptr);
  hook["next_attempt"] = fails ? time_or_null(failing->second.next_attempt) : json(nullptr);
  out["webhook"] = std::move(hook);
  return out;
}

task<delivery_troubles_ptr> find_troubles(exchange& with, std::string workspace) {
  auto none = std::make_shared<const delivery_troubles>();
  const auto& services = with.services();
  if (!services.webhooks)
    co_return none;
  const auto deadline = services.options.answer_deadline;
  auto found = co_await with.actors().ask<delivery_troubles_ptr>(deadline, services.webhooks,
                                                                 list_atom::value, workspace);
  co_return found ? *found : none;
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
  const auto troubles = co_await find_troubles(with, workspace->str());
  const auto* log = &with.services().log;
  const auto read = [log, id = workspace->str(), webhooks_only, how = url_view_of(with),
                     troubles]() -> expected<json> {
    const auto stream = find_workspace(*log, id);
    if (!stream)
      return tl::make_unexpected(stream.error());
    const auto all = stored_consumers(*log, id);
    if (!all)
      return tl::make_unexpected(all.error());
    auto out = json::array();
    for (const auto& [name, who] : *all)
      if (who.push || !webhooks_only)
        out.push_back(shown(who, *stream, how, *troubles));
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
