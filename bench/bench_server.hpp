#pragma once

#include "replay/hub.hpp"
#include "storage/event_log.hpp"

#include <cstdint>
#include <memory>

namespace tidemark {

/// The HTTP server over a log, in this process and on loopback, without any actor behind it: enough
/// for what only reads.
class bench_server {
public:
  bench_server(const event_log& log, hub& events);
  ~bench_server();
  bench_server(const bench_server&) = delete;
  bench_server& operator=(const bench_server&) = delete;

  [[nodiscard]] std::uint16_t port() const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace tidemark
