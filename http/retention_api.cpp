#include "http/parse_body.hpp"
#include "http/problem.hpp"
#include "http/router.hpp"

#include "replay/retention_rules.hpp"

#include <utility>

// What is kept of one workspace (docs/audit.md, Retention).
namespace tidemark {

namespace {

expected<configure_workspace> parse_configuration(const std::string& text) {
  const auto body = parse_members(text, {"retain"});
  if (!body)
    return tl::make_unexpected(body.error());
  configure_workspace out;
  if (!body->contains("retain"))
    return out;
  auto wanted = parse_retention((*body)["retain"]);
  if (!wanted)
    return tl::make_unexpected(std::move(wanted.error()));
  out.retain = std::move(*wanted);
  return out;
}

task<void> configure(exchange& with) {
  const auto workspace = workspace_id::parse(with.param("id"));
  if (!workspace) {
    co_await send_error(with, workspace.error());
    co_return;
  }
  auto parse = [](const std::string& text) { return parse_configuration(text); };
  auto wanted = co_await parse_body(with, std::move(parse));
  if (!wanted) {
    co_await send_error(with, wanted.error());
    co_return;
  }
  wanted->by = with.who().name;
  auto what = command{std::move(*wanted)};
  const auto reply = co_await with.ask<configure_reply>(workspace->str(), false, std::move(what));
  if (!reply) {
    co_await send_error(with, reply.error());
    co_return;
  }
  auto body = json::object();
  body["workspace"] = workspace->str();
  body["retain"] = reply->retain;
  body["retention"] = describe_retention(with.services().retain, reply->retain);
  co_await with.send(200, dump_json(body));
}

} // namespace

void add_retention_routes(router& to) {
  to.add("PATCH", "/api/v1/workspaces/{id}", configure, scope::admin);
}

} // namespace tidemark
