#pragma once

#include <string>
#include <string_view>

namespace tidemark::bench {

/// A plain blocking socket to a server on 127.0.0.1, for measurements that a full HTTP client would
/// blur. Throws std::runtime_error if anything fails.
class loopback {
public:
  /// `url` is `http://127.0.0.1:<port>`.
  explicit loopback(const std::string& url);
  ~loopback();
  loopback(loopback&& other) noexcept;
  loopback(const loopback&) = delete;
  loopback& operator=(const loopback&) = delete;

  /// Sends a request of HTTP/1.1 with this body (none if empty) and a bearer token.
  void send(std::string_view method, std::string_view path, std::string_view token,
            std::string_view body = {}, std::string_view accept = "*/*");

  /// Reads until the answer holds `mark`, and returns all of it so far; waits at most a minute.
  std::string read_until(std::string_view mark);

private:
  int fd_ = -1;
  std::string received_;
};

} // namespace tidemark::bench
