#include "http/problem.hpp"
#include "http/v1_shapes.hpp"
#include "http/workspace_api.hpp"
#include "replay/retention_rules.hpp"

#include <algorithm>
#include <utility>

namespace tidemark {

namespace {

task<void> list(exchange& x) {
  const auto all = co_await list_workspaces(x);
  if (!all) {
    auto why = all.error();
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  auto workspaces = json::array();
  for (const auto& summary : **all)
    workspaces.push_back(workspace_object(summary, x.services().workspace_root));
  auto body = json::object();
  body["workspaces"] = std::move(workspaces);
  co_await send_json(x, std::move(body));
}

task<void> describe(exchange& x) {
  const auto id = co_await workspace_of(x);
  if (id.empty())
    co_return;
  command what = describe_workspace{};
  const auto info = co_await x.ask<workspace_info>(id, false, std::move(what));
  if (!info) {
    auto why = info.error();
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  auto body = workspace_object(*info);
  body["retention"] = describe_retention(x.services().retain, info->retain);
  co_await send_json(x, std::move(body));
}

task<void> list_sessions(exchange& x) {
  const auto all = co_await list_workspaces(x);
  if (!all) {
    auto why = all.error();
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  auto sessions = json::array();
  for (const auto& summary : **all)
    if (summary.session)
      sessions.push_back(session_object(summary.id, *summary.session));
  auto body = json::object();
  body["sessions"] = std::move(sessions);
  co_await send_json(x, std::move(body));
}

/// The id may be the conversation's or its workspace's: both name exactly one.
task<void> one_session(exchange& x) {
  const auto all = co_await list_workspaces(x);
  if (!all) {
    auto why = all.error();
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  const auto& id = x.param("id");
  const auto is_it = [&](const workspace_summary& w) {
    return w.session && (*w.session == id || w.id == id);
  };
  const auto found = std::find_if((*all)->begin(), (*all)->end(), is_it);
  if (found == (*all)->end()) {
    error_info info;
    info.code = "SESSION_NOT_FOUND";
    info.message = "no such session";
    info.err_id = log_failure(x.route(), info.code, info.message, 404);
    auto text = error_body(info);
    co_await x.send(404, std::move(text));
    co_return;
  }
  auto body = session_object(found->id, *found->session);
  co_await send_json(x, std::move(body));
}

} // namespace

void add_workspace_info_routes(router& to) {
  to.add("GET", "/api/v1/workspaces", list);
  to.add("GET", "/api/v1/workspaces/{id}", describe);
  to.add("GET", "/api/v1/sessions", list_sessions);
  to.add("GET", "/api/v1/sessions/{id}", one_session);
}

} // namespace tidemark
