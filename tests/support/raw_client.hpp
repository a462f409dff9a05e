#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::test {

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

} // namespace tidemark::test
