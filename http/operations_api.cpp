#include "http/problem.hpp"
#include "http/router.hpp"

// /health, /ready, /metrics: for orchestrators and Prometheus.
namespace tidemark {

namespace {

constexpr std::string_view exposition_type = "text/plain; version=0.0.4; charset=utf-8";

task<void> health(exchange& with) {
  auto body = R"({"status":"healthy","version":)" + quote_json(with.services().version) + "}";
  co_await with.send(200, std::move(body));
}

task<void> ready(exchange& with) {
  auto& services = with.services();
  auto reasons = json::array();
  if (services.stopping)
    reasons.push_back("the server is stopping");
  if (const auto log = services.log.health(); !log.accepting)
    reasons.push_back("the log does not accept events: " + log.reason);
  auto body = json::object();
  body["status"] = reasons.empty() ? "ready" : "not_ready";
  const auto status = reasons.empty() ? 200 : 503;
  body["reasons"] = std::move(reasons);
  co_await with.send(status, dump_json(body));
}

task<void> metrics(exchange& with) {
  // On the pool: a scrape asks the log for figures, which may touch the disk.
  auto* instruments = &with.services().metrics;
  const auto expose = [instruments] { return instruments->expose(); };
  auto text = co_await with.blocking(expose);
  co_await with.send_text(200, std::string{exposition_type}, std::move(text));
}

} // namespace

void add_operations_routes(router& to) {
  to.add("GET", "/health", health, scope::none);
  to.add("GET", "/ready", ready);
  to.add("GET", "/metrics", metrics);
}

} // namespace tidemark
