#include "http/consumer_shape.hpp"
#include "http/problem.hpp"
#include "http/router.hpp"

// Readers whose place the server keeps (docs/events.md, Consumers).
namespace tidemark {

namespace {

task<void> send_consumer(exchange& with, const expected<consumer_reply>& reply) {
  if (!reply) {
    co_await send_error(with, reply.error());
    co_return;
  }
  auto body = dump_json(shown(reply->now, reply->stream, url_view_of(with), {}));
  const auto status = reply->created ? 201 : 200;
  co_await with.send(status, std::move(body));
}

task<void> make_consumer(exchange& with) {
  auto where = consumer_address_of(with);
  const auto body = object_of(with.request().body(), {"from"});
  auto from = body ? consumer_start_of(*body) : tl::make_unexpected(body.error());
  if (!where || !from) {
    co_await send_error(with, where ? from.error() : where.error());
    co_return;
  }
  skip_removed(*from, with.services().log, where->workspace);
  put_consumer request;
  request.name = std::move(where->name);
  request.from = *from;
  request.by = with.who().name;
  auto what = command{std::move(request)};
  const auto reply = co_await with.ask<consumer_reply>(where->workspace, false, std::move(what));
  co_await send_consumer(with, reply);
}

/// The place in `{"offset": "1-42"}` or `{"offset": 42}`.
expected<cursor> acknowledged(const std::string& text) {
  const auto body = object_of(text, {"offset"});
  if (!body)
    return tl::make_unexpected(body.error());
  const auto found = body->find("offset");
  const auto given = found == body->end()         ? std::string{}
                     : found->is_string()         ? found->get<std::string>()
                     : found->is_number_integer() ? found->dump()
                                                  : std::string{};
  auto place = cursor::parse(given);
  if (!place)
    return fail(errc::invalid_argument,
                "field \"offset\": must be the last event that is done with, \"1-42\" or 42");
  return place;
}

task<void> acknowledge_events(exchange& with) {
  auto where = consumer_address_of(with);
  const auto upto = acknowledged(with.request().body());
  if (!where || !upto) {
    co_await send_error(with, where ? upto.error() : where.error());
    co_return;
  }
  ack_consumer request;
  request.name = std::move(where->name);
  request.upto = *upto;
  auto what = command{std::move(request)};
  const auto reply = co_await with.ask<consumer_reply>(where->workspace, false, std::move(what));
  co_await send_consumer(with, reply);
}

task<void> forget_consumer(exchange& with) {
  auto where = consumer_address_of(with);
  if (!where) {
    co_await send_error(with, where.error());
    co_return;
  }
  delete_consumer request;
  request.name = std::move(where->name);
  auto what = command{std::move(request)};
  const auto reply = co_await with.ask<done>(where->workspace, false, std::move(what));
  if (reply)
    co_await with.send(204, std::string{});
  else
    co_await send_error(with, reply.error());
}

task<void> show_consumer(exchange& with) {
  const auto where = consumer_address_of(with);
  if (!where) {
    co_await send_error(with, where.error());
    co_return;
  }
  const auto found = co_await find_placed(with, *where);
  const auto troubles = co_await find_troubles(with, where->workspace);
  const auto how = url_view_of(with);
  if (found)
    co_await with.send(200, dump_json(shown(found->who, found->stream, how, *troubles)));
  else
    co_await send_error(with, found.error());
}

task<void> send_consumers(exchange& with) {
  return send_placed(with, "consumers", false);
}

} // namespace

void add_consumer_routes(router& to) {
  to.add("GET", "/api/v1/workspaces/{id}/consumers", send_consumers);
  to.add("PUT", "/api/v1/workspaces/{id}/consumers/{name}", make_consumer);
  to.add("GET", "/api/v1/workspaces/{id}/consumers/{name}", show_consumer);
  to.add("DELETE", "/api/v1/workspaces/{id}/consumers/{name}", forget_consumer);
  to.add("POST", "/api/v1/workspaces/{id}/consumers/{name}/ack", acknowledge_events);
}

} // namespace tidemark
