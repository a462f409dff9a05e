#include "bench/bench_server.hpp"

#include "http/server.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace tidemark {

namespace {

caf::actor_system_config& configured(caf::actor_system_config& c) {
  c.set("scheduler.policy", caf::atom("sharing"));
  c.set("scheduler.max-threads", std::size_t{1});
  return c;
}

} // namespace

struct bench_server::parts {
  parts(const event_log& log, hub& events)
    : system(configured(config)),
      background(log),
      services{options, log,        events, metrics, directory_actor{}, agent_probe_actor{},
               pool,    background, "/tmp", "bench", policy::agent,     stopping,
               quiet},
      server(system, services) {
    options.port = 0;
    port = server.start().value();
  }
  ~parts() {
    stopping = true;
    server.stop(std::chrono::seconds{2});
  }

  caf::actor_system_config config;
  caf::actor_system system;
  boost::asio::thread_pool pool{4};
  background_pool background;
  http_options options;
  instruments metrics{"bench"};
  std::atomic<bool> stopping{false};
  std::atomic<bool> quiet{false};
  http_services services;
  http_server server;
  std::uint16_t port = 0;
};

bench_server::bench_server(const event_log& log, hub& events)
  : parts_(std::make_unique<parts>(log, events)) {}
bench_server::~bench_server() = default;

std::uint16_t bench_server::port() const {
  return parts_->port;
}

} // namespace tidemark
