#pragma once

#include "base/error.hpp"
#include "http/services.hpp"

#include <chrono>
#include <cstdint>
#include <memory>

namespace tidemark {

/// The HTTP actor: listener, connections as coroutines, one gateway a thread.
class http_server {
public:
  http_server(caf::actor_system& system, http_services& services);
  /// Precondition: stop() has returned.
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  /// Binds and starts to serve on threads of its own. Returns the port.
  /// Errors: `invalid_argument` (no token on an address other than loopback), `io` (address in use).
  expected<std::uint16_t> start();

  /// Takes no connection and no request more; running requests and streams go on.
  void refuse_new();

  /// Ends streams and connections, for at most `limit`, then joins the threads. Precondition: no
  /// event will be logged any more. Streams end properly once their readers have the last one.
  void stop(std::chrono::milliseconds limit);

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace tidemark
