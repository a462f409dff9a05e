#include "http/consumer_shape.hpp"
#include "http/problem.hpp"
#include "http/router.hpp"

#include <caf/send.hpp>
#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <stdexcept>

// Consumers that events are pushed to (docs/events.md, Webhooks). They send the history elsewhere, so
// making and moving them asks for the scope `admin`.
namespace tidemark {

namespace {

constexpr std::size_t max_types = 100;
constexpr std::size_t max_type_bytes = 128;
constexpr std::size_t max_secret_bytes = 256;
constexpr std::size_t min_secret_bytes = 16;
constexpr std::int64_t most_attempts = 1000;

tl::unexpected<error> bad_webhook_field(std::string_view field, std::string_view rule) {
  return fail(errc::invalid_argument, fmt::format("field \"{}\": {}", field, rule));
}

std::string new_secret() {
  std::array<unsigned char, 32> random{};
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1)
    throw std::runtime_error{"the system has no random numbers to make a secret of"};
  std::string out = "whsec_";
  for (const auto byte : random)
    out += fmt::format("{:02x}", byte);
  return out;
}

expected<std::optional<std::vector<std::string>>> types_of(const json& body) {
  const auto found = body.find("types");
  if (found == body.end() || found->is_null())
    return std::optional<std::vector<std::string>>{};
  std::vector<std::string> out;
  const auto is_graphic = [](char c) { return c > ' ' && c <= '~'; };
  const auto fits = [&](const json& type) {
    return type.is_string() && !type.get_ref<const std::string&>().empty()
           && type.get_ref<const std::string&>().size() <= max_type_bytes
           && std::ranges::all_of(type.get_ref<const std::string&>(), is_graphic);
  };
  if (!found->is_array() || found->size() > max_types || !std::ranges::all_of(*found, fits))
    return bad_webhook_field("types",
                             "must be at most 100 types of events, like \"turn.completed\" or "
                             "\"item.*\"");
  for (const auto& type : *found)
    out.push_back(type.get<std::string>());
  return std::optional{std::move(out)};
}

expected<put_consumer::webhook_change> change_of(const json& body) {
  put_consumer::webhook_change out;
  const auto url = body.find("url");
  if (url == body.end() || !url->is_string())
    return bad_webhook_field("url", "must be the address that events are sent to");
  auto types = types_of(body);
  if (!types)
    return tl::make_unexpected(types.error());
  out.url = url->get<std::string>();
  out.types = std::move(*types);
  if (const auto secret = body.find("secret"); secret != body.end() && !secret->is_null()) {
    out.secret = string_or(body, "secret");
    if (out.secret.size() < min_secret_bytes || out.secret.size() > max_secret_bytes)
      return bad_webhook_field("secret", "must be 16 to 256 bytes");
  }
  if (const auto most = body.find("max_attempts"); most != body.end() && !most->is_null()) {
    const auto count = most->is_number_integer() ? int_or(body, "max_attempts", 0) : 0;
    if (count < 1 || count > most_attempts)
      return bad_webhook_field("max_attempts", "must be a whole number from 1 to 1000");
    out.max_attempts = static_cast<std::size_t>(count);
  }
  out.fresh_secret = new_secret();
  return out;
}

/// On the blocking pool: the first look loads a library.
task<expected<void>> check_url(exchange& with, std::string url) {
  const auto* check = &with.services().check_webhook_url;
  if (!*check)
    co_return expected<void>{};
  const auto look = [check, text = std::move(url)] { return (*check)(text); };
  auto fits = co_await with.blocking(look);
  if (!fits && fits.error().code == errc::invalid_argument)
    co_return bad_webhook_field("url", fits.error().message);
  co_return fits;
}

/// The actor that delivers reads the log again.
void tell_of_change(exchange& with, const consumer_address& where) {
  const auto& webhooks = with.services().webhooks;
  if (webhooks)
    caf::anon_send(webhooks, changed_atom::value, where.workspace, where.name);
}

task<void> make_webhook(exchange& with) {
  const auto where = consumer_address_of(with);
  const auto body =
    object_of(with.request().body(), {"url", "secret", "types", "max_attempts", "from"});
  auto from = body ? consumer_start_of(*body) : tl::make_unexpected(body.error());
  auto change = body ? change_of(*body) : tl::make_unexpected(body.error());
  if (!where || !from || !change) {
    co_await send_error(with, !where ? where.error() : !from ? from.error() : change.error());
    co_return;
  }
  const auto fits = co_await check_url(with, change->url);
  if (!fits) {
    co_await send_error(with, fits.error());
    co_return;
  }
  const auto fresh = change->secret.empty() ? change->fresh_secret : std::string{};
  skip_removed(*from, with.services().log, where->workspace);
  put_consumer request;
  request.name = where->name;
  request.from = *from;
  request.by = with.who().name;
  request.push = std::move(*change);
  auto what = command{std::move(request)};
  const auto reply = co_await with.ask<consumer_reply>(where->workspace, false, std::move(what));
  if (!reply) {
    co_await send_error(with, reply.error());
    co_return;
  }
  tell_of_change(with, *where);
  auto shape = shown(reply->now, reply->stream, url_view::whole, {});
  if (reply->created && !fresh.empty())
    shape["secret"] = fresh; // this once
  co_await with.send(reply->created ? 201 : 200, dump_json(shape));
}

task<void> send_webhook(exchange& with) {
  const auto where = consumer_address_of(with);
  if (!where) {
    co_await send_error(with, where.error());
    co_return;
  }
  const auto found = co_await find_placed(with, *where);
  if (!found) {
    co_await send_error(with, found.error());
    co_return;
  }
  if (!found->who.push) {
    const error none{errc::not_found,
                     "\"" + where->name + "\" is a consumer that fetches its events"};
    co_await send_error(with, none);
    co_return;
  }
  const auto troubles = co_await find_troubles(with, where->workspace);
  const auto how = url_view_of(with);
  co_await with.send(200, dump_json(shown(found->who, found->stream, how, *troubles)));
}

task<void> send_webhooks(exchange& with) {
  return send_placed(with, "webhooks", true);
}

task<void> forget_webhook(exchange& with) {
  const auto where = consumer_address_of(with);
  if (!where) {
    co_await send_error(with, where.error());
    co_return;
  }
  delete_consumer request;
  request.name = where->name;
  request.pushes = true;
  auto what = command{std::move(request)};
  const auto reply = co_await with.ask<done>(where->workspace, false, std::move(what));
  if (!reply) {
    co_await send_error(with, reply.error());
    co_return;
  }
  tell_of_change(with, *where);
  co_await with.send(204, std::string{});
}

task<void> redeliver(exchange& with) {
  const auto where = consumer_address_of(with);
  const auto body = object_of(with.request().body(), {"from"});
  auto from = body ? consumer_start_of(*body) : tl::make_unexpected(body.error());
  if (!where) {
    co_await send_error(with, where.error());
    co_return;
  }
  if (!from) {
    co_await send_error(with, from.error());
    co_return;
  }
  skip_removed(*from, with.services().log, where->workspace);
  revive_webhook request;
  request.name = where->name;
  if (body->contains("from"))
    request.from = *from;
  auto what = command{std::move(request)};
  const auto reply = co_await with.ask<consumer_reply>(where->workspace, false, std::move(what));
  if (!reply) {
    co_await send_error(with, reply.error());
    co_return;
  }
  tell_of_change(with, *where);
  auto shape = shown(reply->now, reply->stream, url_view::whole, {});
  co_await with.send(200, dump_json(shape));
}

} // namespace

void add_webhook_routes(router& to) {
  to.add("GET", "/api/v1/workspaces/{id}/webhooks", send_webhooks);
  to.add("PUT", "/api/v1/workspaces/{id}/webhooks/{name}", make_webhook, scope::admin);
  to.add("GET", "/api/v1/workspaces/{id}/webhooks/{name}", send_webhook);
  to.add("DELETE", "/api/v1/workspaces/{id}/webhooks/{name}", forget_webhook, scope::admin);
  to.add("POST", "/api/v1/workspaces/{id}/webhooks/{name}/redeliver", redeliver, scope::admin);
}

} // namespace tidemark
