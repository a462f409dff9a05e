#include "http/server.hpp"

#include "base/logging.hpp"
#include "http/auth.hpp"
#include "http/connection.hpp"
#include "http/router.hpp"
#include "http/ui_api.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

namespace tidemark {

namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using executor = asio_unit::executor;
using acceptor = asio::basic_socket_acceptor<tcp, executor>;
using timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, executor>;

constexpr std::size_t max_refusals = 256; // connections being told that there are too many

/// One I/O thread with its gateway and connections. The members are used on its thread.
struct io_thread {
  io_thread(caf::actor_system& system, http_services& services, const router& routes,
            gatekeeper& gate, const std::atomic<bool>& draining,
            std::shared_ptr<std::atomic<std::size_t>> held)
    : guard(asio::make_work_guard(context)),
      actors(system, context.get_executor()),
      sweeper(context.get_executor()),
      shared{services, routes, actors, gate, draining, std::move(held)} {}

  std::unordered_set<connection*>
    connections; // before the context, whose coroutines remove themselves
  asio::io_context context{1};
  asio::executor_work_guard<executor> guard;
  gateway actors;
  timer sweeper;
  connection_context shared;
  std::thread runner;
};

std::chrono::milliseconds sweep_interval(const http_options& options) {
  const auto shortest =
    std::min({options.request_timeout, options.idle_timeout, options.write_timeout});
  return std::clamp(shortest / 8, std::chrono::milliseconds{5}, std::chrono::milliseconds{250});
}

task<void> sweep(io_thread& on, std::chrono::milliseconds every) {
  for (;;) {
    on.sweeper.expires_after(every);
    const auto result = co_await on.sweeper.async_wait(as_result);
    if (std::get<0>(result))
      co_return;
    const auto now = wire::clock::now();
    for (auto* each : on.connections)
      each->expire(now);
  }
}

expected<tcp::endpoint> resolve(const http_options& options, asio::io_context& context) {
  boost::system::error_code failed;
  const auto address = asio::ip::make_address(options.host, failed);
  if (!failed)
    return tcp::endpoint{address, options.port};
  tcp::resolver resolver{context};
  const auto found = resolver.resolve(options.host, std::to_string(options.port), failed);
  if (failed || found.empty())
    return fail(errc::invalid_argument,
                "http.host \"" + options.host + "\" is not an address of this machine");
  return found.begin()->endpoint();
}

} // namespace

struct http_server::state {
  state(caf::actor_system& sys, http_services& with)
    : system(sys),
      services(with),
      gate(with.options) {
    add_all_routes(routes);
    add_ui_routes(routes);
  }

  caf::actor_system& system;
  http_services& services;
  gatekeeper gate;
  router routes;
  std::atomic<bool> draining{false};
  std::shared_ptr<std::atomic<std::size_t>> held = std::make_shared<std::atomic<std::size_t>>(0);
  std::vector<std::unique_ptr<io_thread>> threads;
  std::optional<acceptor> listener; // on the first thread
  std::size_t next_thread = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::size_t open = 0;     // guarded by mutex: connections and refusals
  std::size_t refusing = 0; // guarded by mutex

  expected<void> listen(const tcp::endpoint& at);
  task<void> accept();
  void admit(wire::tcp_socket socket, io_thread& on);
  task<void> serve(wire::tcp_socket socket, io_thread& on, bool refused);
  bool wait_until_empty(std::chrono::milliseconds limit);
  void on_every_thread(void (connection::*act)());
};

expected<void> http_server::state::listen(const tcp::endpoint& at) {
  boost::system::error_code failed;
  listener.emplace(threads.front()->context.get_executor());
  listener->open(at.protocol(), failed);
  if (!failed)
    listener->set_option(asio::socket_base::reuse_address(true), failed);
  if (!failed)
    listener->bind(at, failed);
  if (!failed)
    listener->listen(1024, failed);
  if (failed) {
    const std::string_view remedy = failed == boost::system::errc::address_in_use
                                      ? ": another program, perhaps another tidemark, listens "
                                        "there (`ss -ltnp` names it); stop it "
                                        "or choose another port with --port (0: a free one)"
                                      : "";
    return fail(errc::io, fmt::format("cannot listen on {}:{}: {}{}", at.address().to_string(),
                                      at.port(), failed.message(), remedy));
  }
  return {};
}

task<void> http_server::state::accept() {
  auto pause = timer{threads.front()->context.get_executor()};
  while (listener->is_open()) {
    auto& on = *threads[next_thread++ % threads.size()];
    auto result = co_await listener->async_accept(on.context.get_executor(), as_result);
    auto& [failed, socket] = result;
    if (!failed) {
      admit(std::move(socket), on);
    } else if (listener->is_open() && failed != asio::error::operation_aborted) {
      // Out of descriptors, most likely: those who are here go first.
      logging::warning("http", "cannot accept a connection: {}", failed.message());
      pause.expires_after(std::chrono::milliseconds{50});
      co_await pause.async_wait(as_result);
    }
  }
}

void http_server::state::admit(wire::tcp_socket socket, io_thread& on) {
  auto refused = false;
  {
    const auto lock = std::lock_guard{mutex};
    refused = open - refusing >= services.options.max_connections;
    if (refused && refusing >= max_refusals)
      return;
    refusing += refused ? 1 : 0;
    ++open;
  }
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  asio::co_spawn(on.context.get_executor(), serve(std::move(socket), on, refused), asio::detached);
}

task<void> http_server::state::serve(wire::tcp_socket socket, io_thread& on, bool refused) {
  const auto client = std::make_shared<connection>(on.shared, std::move(socket));
  on.connections.insert(client.get());
  services.metrics.http_connections(1);
  try {
    if (refused)
      co_await client->refuse();
    else
      co_await client->run();
  } catch (const std::exception& e) {
    logging::error("http", "a connection failed: {}", e.what());
    client->close();
  }
  services.metrics.http_connections(-1);
  on.connections.erase(client.get());
  const auto lock = std::lock_guard{mutex};
  --open;
  refusing -= refused ? 1 : 0;
  changed.notify_all();
}

bool http_server::state::wait_until_empty(std::chrono::milliseconds limit) {
  auto lock = std::unique_lock{mutex};
  return changed.wait_for(lock, limit, [this] { return open == 0; });
}

void http_server::state::on_every_thread(void (connection::*act)()) {
  for (auto& each : threads)
    asio::post(each->context, [on = each.get(), act] {
      for (auto* client : on->connections)
        (client->*act)();
    });
}

http_server::http_server(caf::actor_system& system, http_services& services)
  : state_(std::make_unique<state>(system, services)) {}

http_server::~http_server() = default;

expected<std::uint16_t> http_server::start() {
  auto& s = *state_;
  const auto& options = s.services.options;
  if (auto loaded = s.gate.load(); !loaded)
    return tl::make_unexpected(std::move(loaded.error()));
  for (std::size_t i = 0; i < std::max<std::size_t>(options.threads, 1); ++i)
    s.threads.push_back(
      std::make_unique<io_thread>(s.system, s.services, s.routes, s.gate, s.draining, s.held));
  const auto endpoint = resolve(options, s.threads.front()->context);
  if (!endpoint)
    return tl::make_unexpected(endpoint.error());
  if (s.gate.open() && !endpoint->address().is_loopback()) {
    if (!options.insecure_no_auth)
      return fail(errc::invalid_argument,
                  "no API token is set, so only loopback may be served, not " + options.host
                    + ": set INTERNAL_API_TOKEN, or --insecure-no-auth if something else keeps "
                      "strangers out");
    logging::warning("http",
                     "SERVING {} WITHOUT A TOKEN: everyone who can reach it can run commands here",
                     options.host);
  }
  if (auto listening = s.listen(*endpoint); !listening)
    return tl::make_unexpected(listening.error());
  const auto port = s.listener->local_endpoint().port();
  asio::co_spawn(s.threads.front()->context.get_executor(), s.accept(), asio::detached);
  for (auto& each : s.threads) {
    asio::co_spawn(each->context.get_executor(), sweep(*each, sweep_interval(options)),
                   asio::detached);
    each->runner = std::thread{[on = each.get()] { on->context.run(); }};
  }
  return port;
}

void http_server::refuse_new() {
  auto& s = *state_;
  if (!s.listener || s.threads.empty())
    return;
  s.services.stopping = true;
  s.draining = true;
  asio::post(s.threads.front()->context, [&s] {
    boost::system::error_code ignored;
    s.listener->close(ignored);
  });
  s.on_every_thread(&connection::drain);
}

void http_server::stop(std::chrono::milliseconds limit) {
  auto& s = *state_;
  refuse_new();
  s.services.quiet = true;
  s.services.events.wake_all();
  if (!s.wait_until_empty(limit)) {
    s.on_every_thread(&connection::close);
    s.wait_until_empty(std::chrono::milliseconds{500});
  }
  for (auto& each : s.threads)
    each->context.stop();
  for (auto& each : s.threads)
    if (each->runner.joinable())
      each->runner.join();
  // Work on the blocking pool comes back to these contexts.
  for (auto n = s.held->load(); n != 0; n = s.held->load())
    s.held->wait(n);
  s.listener.reset();
  s.threads.clear();
}

} // namespace tidemark
