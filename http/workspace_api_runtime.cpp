#include "http/problem.hpp"
#include "http/v1_shapes.hpp"
#include "http/workspace_api.hpp"

#include <chrono>
#include <utility>

namespace tidemark {

namespace {

/// The contract gives a refresh 60 s; the answer must be on its way before.
constexpr std::chrono::seconds probe_deadline{55};

/// What each workspace's agent said of its MCP servers when it last started. Ours, additive.
json servers_of(const std::vector<workspace_summary>& all) {
  auto servers = json::array();
  for (const auto& summary : all)
    for (auto server : summary.mcp_servers) {
      server["workspace_id"] = summary.id;
      servers.push_back(std::move(server));
    }
  return servers;
}

task<void> send_tools(exchange& x, expected<probe_ptr> probe, const char* source) {
  const auto all = co_await list_workspaces(x);
  if (!probe || !all) {
    auto why = probe ? all.error() : probe.error();
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  auto body = json::object();
  body["status"] = "ok";
  body["tools"] = tools_or_null((*probe)->tools);
  body["source"] = source;
  body["mcp_servers"] = servers_of(**all);
  co_await send_json(x, std::move(body));
}

task<expected<probe_ptr>> last_probe(exchange& x) {
  const auto& services = x.services();
  co_return co_await x.actors().ask<probe_ptr>(services.options.answer_deadline, services.probe,
                                               list_atom::value);
}

task<void> tools(exchange& x) {
  auto probe = co_await last_probe(x);
  co_await send_tools(x, std::move(probe), "cache");
}

task<void> refresh_tools(exchange& x) {
  auto probe =
    co_await x.actors().ask<probe_ptr>(probe_deadline, x.services().probe, probe_atom::value);
  co_await send_tools(x, std::move(probe), "probe");
}

json workspaces_body(const std::vector<workspace_summary>& all) {
  auto ids = json::array();
  for (const auto& summary : all)
    ids.push_back(summary.id);
  auto body = json::object();
  body["count"] = ids.size();
  body["ids"] = std::move(ids);
  return body;
}

/// Answers from what is known already: monitoring asks often, and a CLI start costs seconds.
task<void> status(exchange& x) {
  const auto probe = co_await last_probe(x);
  const auto all = co_await list_workspaces(x);
  if (!probe || !all) {
    auto why = probe ? all.error() : probe.error();
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  auto body = json::object();
  body["status"] = "healthy";
  body["services"]["api"] = "running";
  body["services"]["claude_runtime"] = (*probe)->available ? "available" : "unavailable";
  body["capabilities"]["tools"] = tools_or_null((*probe)->tools);
  body["capabilities"]["policy"] = policy_object(summarize(x.services().rights));
  body["workspaces"] = workspaces_body(**all);
  body["version"] = x.services().version;
  body["claude_version"] = nullptr;
  if (!(*probe)->agent_version.empty())
    body["claude_version"] = (*probe)->agent_version;
  co_await send_json(x, std::move(body));
}

} // namespace

void add_runtime_routes(router& to) {
  to.add("GET", "/api/v1/status", status);
  to.add("GET", "/api/v1/capabilities/tools", tools);
  to.add("POST", "/api/v1/capabilities/tools/refresh", refresh_tools);
}

} // namespace tidemark
