#pragma once

#include "damaged_log.hpp"
#include "http/server.hpp"
#include "storage/memory_log.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tidemark::testing {

/// A blocking client over a raw socket, so that a test decides about every byte.
class raw_client {
public:
  explicit raw_client(std::uint16_t port);
  ~raw_client();
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  /// False if the server no longer takes bytes.
  bool send(std::string_view bytes);
  /// Everything up to the server's end of the connection, or up to `limit`.
  std::string read_all(std::chrono::milliseconds limit = std::chrono::seconds{10});
  /// Reads until `mark` has been received; what came so far in any case.
  std::string read_until(std::string_view mark,
                         std::chrono::milliseconds limit = std::chrono::seconds{10});
  /// True once the server has closed its side.
  [[nodiscard]] bool closed_by_server() const { return closed_; }
  /// Closes this side only: sends no more, and still reads.
  void end_output();
  /// Leaves: with a reset if `abruptly`.
  void leave(bool abruptly);
  void small_receive_buffer();

private:
  bool receive(std::string& into, std::chrono::steady_clock::time_point deadline);
  int socket_ = -1;
  bool closed_ = false;
};

/// Status of a response, 0 if there is none.
int status_of(std::string_view response);
/// What follows the headers; chunks are joined.
std::string body_of(std::string_view response);
/// True if a chunked body has its terminator.
bool ends_properly(std::string_view response);

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
