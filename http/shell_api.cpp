#include "http/parse_body.hpp"
#include "http/problem.hpp"
#include "http/router.hpp"
#include "http/shell_frames.hpp"
#include "http/shell_socket.hpp"
#include "http/workspace_api.hpp"

#include <utility>

// Shells (contracts: workspace API v1, Shell).
namespace tidemark {

namespace {

std::string_view code_of(errc code) {
  switch (code) {
  case errc::invalid_argument: return "INVALID_REQUEST";
  case errc::not_found: return "SHELL_SESSION_NOT_FOUND";
  case errc::forbidden: return "FORBIDDEN";
  case errc::full: return "STORAGE_FULL";
  default: return "SHELL_MANAGER_UNAVAILABLE";
  }
}

task<void> send_failure(exchange& x, error why) {
  const auto status = status_of(why.code);
  auto info = error_info{};
  info.code = code_of(why.code);
  info.message = why.describe();
  info.retryable = why.retryable || status == 503;
  info.err_id = log_failure(x.route(), info.code, info.message, status);
  auto body = error_body(info);
  co_await x.send(status, std::move(body));
}

task<void> send_no_such_shell(exchange& x) {
  auto why = error{errc::not_found, "there is no such shell"};
  co_await send_failure(x, std::move(why));
}

/// Asks the shells. Without them (shell.enabled) everything is refused.
template <class Reply, class... Args>
task<expected<Reply>> ask_shells(exchange& x, Args... args) {
  const auto& services = x.services();
  if (!services.shells)
    co_return fail(errc::unavailable, "shells are switched off (shell.enabled)");
  co_return co_await x.actors().ask<Reply>(services.options.answer_deadline, services.shells,
                                           std::move(args)...);
}

/// Asks one shell. The call may meet it in the moment of its end and come back unanswered: by then the
/// shells know that it has ended, and say so.
template <class Reply, class... Args>
task<expected<Reply>> ask_shell(exchange& x, Args... args) {
  auto reply = co_await ask_shells<Reply>(x, args...);
  if (!reply && reply.error().code == errc::unavailable)
    reply = co_await ask_shells<Reply>(x, std::move(args)...);
  co_return reply;
}

task<void> list_shells(exchange& x) {
  const auto all = co_await ask_shells<shell_list_ptr>(x, list_atom::value);
  if (!all) {
    auto why = all.error();
    co_await send_failure(x, std::move(why));
    co_return;
  }
  auto body = json::object();
  body["shells"] = json::array();
  for (const auto& each : **all)
    body["shells"].push_back(shell_object(each));
  co_await send_json(x, std::move(body));
}

task<void> open_shell_for(exchange& x) {
  auto wanted = co_await parse_body(x, parse_shell_request);
  if (!wanted) {
    auto why = std::move(wanted.error());
    co_await send_failure(x, std::move(why));
    co_return;
  }
  wanted->by = x.who().name;
  shell_request_ptr request = std::make_shared<const shell_request>(std::move(*wanted));
  const auto reply = co_await ask_shells<shell_info_ptr>(x, open_atom::value, std::move(request));
  if (!reply || !**reply) {
    auto why = reply ? (*reply)->error() : reply.error();
    co_await send_failure(x, std::move(why));
    co_return;
  }
  auto body = shell_object(***reply);
  co_await send_json(x, std::move(body));
}

task<void> close_shell_for(exchange& x) {
  auto id = x.param("id");
  auto by = x.who().name;
  const auto closed = co_await ask_shell<bool>(x, close_atom::value, std::move(id), std::move(by));
  if (!closed) {
    auto why = closed.error();
    co_await send_failure(x, std::move(why));
  } else if (!*closed) {
    co_await send_no_such_shell(x);
  } else {
    auto body = json::object();
    body["status"] = "ok";
    body["id"] = x.param("id");
    co_await send_json(x, std::move(body));
  }
}

task<expected<shell_attachment>> attach(exchange& x, const websocket& socket) {
  auto who = std::make_shared<shell_client>();
  who->wake = socket.waker();
  who->keeps = x.query("keep").value_or("") == "true";
  shell_client_ptr client = std::move(who);
  auto id = x.param("id");
  auto reply = co_await ask_shell<shell_attachment_ptr>(x, attach_atom::value, std::move(id),
                                                        std::move(client));
  if (!reply)
    co_return tl::unexpected{reply.error()};
  co_return **reply;
}

task<void> speak_with_shell(exchange& x) {
  auto socket = co_await x.upgrade(x.services().shell_message_bytes);
  if (!socket)
    co_return;
  if (!x.refused().empty()) {
    co_await socket->close(websocket::policy_violation, x.refused());
    co_return;
  }
  auto place = co_await attach(x, *socket);
  if (!place) {
    const auto unknown = place.error().code == errc::not_found;
    const auto why = place.error().describe();
    co_await socket->close(unknown ? websocket::policy_violation : websocket::internal_error, why);
    co_return;
  }
  auto id = x.param("id");
  co_await serve_shell(x, std::move(socket), std::move(*place), std::move(id));
}

} // namespace

void add_shell_routes(router& to) {
  to.add("GET", "/api/v1/shells", list_shells, scope::admin);
  to.add("POST", "/api/v1/shells", open_shell_for, scope::admin);
  to.add("DELETE", "/api/v1/shells/{id}", close_shell_for, scope::admin);
  to.add_websocket("/api/v1/shells/{id}/ws", speak_with_shell, scope::admin);
}

} // namespace tidemark
