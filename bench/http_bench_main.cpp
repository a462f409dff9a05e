#include "actors/bridge.hpp"
#include "http/server.hpp"
#include "storage/memory_log.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

// Requests a second of GET /health: our server against a bare Beast server, in the same run, because
// only figures of the same minute compare. One JSON line a measurement, then a table.

namespace {

namespace asio = boost::asio;
namespace bhttp = boost::beast::http;
using namespace tidemark;
using tcp = asio::ip::tcp;
using executor = asio::io_context::executor_type;
using tcp_socket = asio::basic_stream_socket<tcp, executor>;
using tcp_acceptor = asio::basic_socket_acceptor<tcp, executor>;
template <class T>
using task = asio::awaitable<T, executor>;
using clock_type = std::chrono::steady_clock;

constexpr auto per_measurement = std::chrono::milliseconds{1500};
constexpr int rounds = 2;

// -- the bare server -----------------------------------------------------------

task<void> bare_session(tcp_socket socket) {
  boost::beast::flat_buffer buffer;
  for (;;) {
    bhttp::request<bhttp::string_body> request;
    const auto read = co_await bhttp::async_read(socket, buffer, request, as_result);
    if (std::get<0>(read))
      co_return;
    bhttp::response<bhttp::string_body> response{bhttp::status::ok, request.version()};
    response.set(bhttp::field::server, "bare");
    response.set(bhttp::field::content_type, "application/json");
    response.keep_alive(request.keep_alive());
    response.body() = R"({"status":"healthy","version":"bench"})";
    response.prepare_payload();
    const auto written = co_await bhttp::async_write(socket, response, as_result);
    if (std::get<0>(written))
      co_return;
  }
}

task<void> bare_listen(tcp_acceptor& listener) {
  for (;;) {
    auto accepted = co_await listener.async_accept(as_result);
    auto& [failed, socket] = accepted;
    if (failed)
      co_return;
    socket.set_option(tcp::no_delay(true));
    asio::co_spawn(listener.get_executor(), bare_session(std::move(socket)), asio::detached);
  }
}

class bare_server {
public:
  bare_server()
    : listener_(context_.get_executor(), tcp::endpoint{asio::ip::address_v4::loopback(), 0}) {
    asio::co_spawn(context_.get_executor(), bare_listen(listener_), asio::detached);
    runner_ = std::thread{[this] { context_.run(); }};
  }
  ~bare_server() {
    context_.stop();
    runner_.join();
  }
  bare_server(const bare_server&) = delete;
  bare_server& operator=(const bare_server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return listener_.local_endpoint().port(); }

private:
  asio::io_context context_{1};
  tcp_acceptor listener_;
  std::thread runner_;
};

// -- ours ------------------------------------------------------------------------

class our_server {
public:
  our_server() : system_(configured(config_)), pool_(1) {
    services_.reset(new http_services{options_, log_, events_, metrics_, directory_actor{},
                                      agent_probe_actor{}, pool_, "/tmp", "bench", policy::agent,
                                      stopping_, quiet_});
    options_.port = 0;
    server_ = std::make_unique<http_server>(system_, *services_);
    port_ = server_->start().value();
  }
  ~our_server() {
    server_->stop(std::chrono::seconds{2});
    server_.reset();
    pool_.join();
  }
  our_server(const our_server&) = delete;
  our_server& operator=(const our_server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

private:
  static caf::actor_system_config& configured(caf::actor_system_config& c) {
    c.set("scheduler.policy", caf::atom("sharing"));
    c.set("scheduler.max-threads", std::size_t{1});
    return c;
  }

  caf::actor_system_config config_;
  caf::actor_system system_;
  asio::thread_pool pool_;
  http_options options_;
  memory_log log_;
  hub events_;
  instruments metrics_{"bench"};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> quiet_{false};
  std::unique_ptr<http_services> services_;
  std::unique_ptr<http_server> server_;
  std::uint16_t port_ = 0;
};

// -- the load ----------------------------------------------------------------------

constexpr std::string_view request_text = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

/// Asks again and again on one connection until the time is over. Both servers always answer with
/// the same bytes, so the length of the first answer is that of all.
task<void> ask(tcp_socket socket, clock_type::time_point until, std::uint64_t& answers) {
  std::string buffer(4096, '\0');
  std::size_t answer_size = 0;
  while (clock_type::now() < until) {
    const auto request = asio::const_buffer{request_text.data(), request_text.size()};
    const auto sent = co_await asio::async_write(socket, request, as_result);
    if (std::get<0>(sent))
      co_return;
    std::size_t have = 0;
    while (have == 0 || (answer_size == 0 ? buffer[have - 1] != '}' : have < answer_size)) {
      const auto room = asio::mutable_buffer{buffer.data() + have, buffer.size() - have};
      const auto got = co_await socket.async_read_some(room, as_result);
      if (std::get<0>(got))
        co_return;
      have += std::get<1>(got);
    }
    answer_size = have;
    ++answers;
  }
}

double requests_per_second(std::uint16_t port, int connections) {
  asio::io_context context{1};
  std::uint64_t answers = 0;
  const auto began = clock_type::now();
  for (int i = 0; i < connections; ++i) {
    tcp_socket socket{context.get_executor()};
    socket.connect({asio::ip::address_v4::loopback(), port});
    socket.set_option(tcp::no_delay(true));
    asio::co_spawn(context.get_executor(), ask(std::move(socket), began + per_measurement, answers),
                   asio::detached);
  }
  context.run();
  return static_cast<double>(answers)
         / std::chrono::duration<double>(clock_type::now() - began).count();
}

} // namespace

int main() {
  bare_server bare;
  our_server ours;
  std::string table;
  for (const auto connections : {1, 64}) {
    double best_bare = 0;
    double best_ours = 0;
    for (int round = 0; round < rounds; ++round) {
      best_bare = std::max(best_bare, requests_per_second(bare.port(), connections));
      best_ours = std::max(best_ours, requests_per_second(ours.port(), connections));
    }
    fmt::print("{{\"bench\":\"http_health\",\"connections\":{},\"bare_beast_per_s\":{:.0f},"
               "\"tidemark_per_s\":{:.0f},"
               "\"ratio\":{:.3f}}}\n",
               connections, best_bare, best_ours, best_ours / best_bare);
    table += fmt::format("{:>11} {:>12.0f} {:>12.0f} {:>6.2f}\n", connections, best_bare, best_ours,
                         best_ours / best_bare);
  }
  fmt::print("\n{:>11} {:>12} {:>12} {:>6}\n{}", "connections", "bare beast/s", "tidemark/s",
             "ratio", table);
}
