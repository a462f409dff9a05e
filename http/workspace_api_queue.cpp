#include "http/problem.hpp"
#include "http/v1_shapes.hpp"
#include "http/workspace_api.hpp"

#include <utility>

namespace tidemark {

namespace {

/// A workspace is created by its first task, so one that is not there yet has an empty queue,
/// nothing to cancel and no session: clients ask before they send their first message.
bool is_unused(const error& why) {
  return why.code == errc::not_found;
}

task<void> queue(exchange& x) {
  const auto id = co_await workspace_of(x);
  if (id.empty())
    co_return;
  command what = get_queue{};
  auto reply = co_await x.ask<queue_reply>(id, false, std::move(what));
  if (!reply && !is_unused(reply.error())) {
    auto why = std::move(reply.error());
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  const auto tasks = reply ? std::move(*reply) : queue_reply{};
  auto body = queue_object(id, tasks, now_utc());
  co_await send_json(x, std::move(body));
}

task<void> cancel(exchange& x, const std::string& id, command what) {
  auto reply = co_await x.ask<cancel_reply>(id, false, std::move(what));
  if (!reply && !is_unused(reply.error())) {
    auto why = std::move(reply.error());
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  auto body = json::object();
  body["cancelled"] = reply && reply->cancelled;
  body["workspace_id"] = id;
  co_await send_json(x, std::move(body));
}

task<void> cancel_running(exchange& x) {
  const auto id = co_await workspace_of(x);
  if (id.empty())
    co_return;
  command what = cancel_current{x.who().name};
  co_await cancel(x, id, std::move(what));
}

task<void> cancel_task(exchange& x) {
  const auto id = co_await workspace_of(x);
  if (id.empty())
    co_return;
  command what = cancel_turn{x.param("task_id"), x.who().name};
  co_await cancel(x, id, std::move(what));
}

task<void> reset(exchange& x) {
  const auto id = co_await workspace_of(x);
  if (id.empty())
    co_return;
  command what = reset_session{x.who().name};
  auto reply = co_await x.ask<reset_reply>(id, false, std::move(what));
  if (!reply && !is_unused(reply.error())) {
    auto why = std::move(reply.error());
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  auto body = json::object();
  body["status"] = "ok";
  body["workspace_id"] = id;
  body["old_session_id"] = nullptr;
  if (reply && reply->old_session)
    body["old_session_id"] = *reply->old_session;
  body["new_session_id"] = nullptr;
  co_await send_json(x, std::move(body));
}

} // namespace

void add_workspace_queue_routes(router& to) {
  to.add("POST", "/api/v1/workspaces/{id}/session/reset", reset);
  to.add("GET", "/api/v1/workspaces/{id}/queue", queue);
  to.add("DELETE", "/api/v1/workspaces/{id}/queue/current", cancel_running);
  to.add("DELETE", "/api/v1/workspaces/{id}/queue/{task_id}", cancel_task);
}

} // namespace tidemark
