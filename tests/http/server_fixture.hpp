#pragma once

#include "damaged_log.hpp"
#include "http/server.hpp"
#include "storage/memory_log.hpp"
#include "tests/support/raw_client.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tidemark::testing {

using test::body_of;
using test::ends_properly;
using test::raw_client;
using test::status_of;

/// A server on loopback over a log in memory, with a directory that a test scripts.
class server_fixture {
public:
  using script =
    std::function<expected<answer>(const std::string& workspace, bool create, const command&)>;

  explicit server_fixture(http_options with = {}, script commands = {});
  ~server_fixture();

  std::uint16_t port = 0;
  memory_log log;
  damaged_log seen{log}; ///< what the server reads
  hub events;
  instruments metrics{"test"};
  http_options options;
  std::atomic<bool> stopping{false};
  std::atomic<bool> quiet{false};

  /// Sends one GET with `Connection: close` and gives back the whole response.
  std::string get(const std::string& target, const std::string& headers = {});
  std::string request(const std::string& method, const std::string& target, const std::string& body,
                      const std::string& headers = {});
  /// Appends `count` events and publishes them.
  stream_info append(const std::string& workspace, std::size_t count, bool ends = false,
                     std::size_t data_bytes = 16);
  /// Shutdown has begun: nothing new is taken, but events may still come.
  void begin_stop();
  void stop(std::chrono::milliseconds limit = std::chrono::seconds{5});
  /// Polls until `what` holds; false after ten seconds.
  static bool eventually(const std::function<bool()>& what);
  /// The value of one series of the exposition, 0 if it is not there.
  double series(const std::string& line_start);

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace tidemark::testing
