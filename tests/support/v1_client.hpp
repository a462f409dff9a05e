#pragma once

#include "base/json.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace v1_test {

using namespace tidemark;

/// Where a server of this machine listens and what it wants to be told.
struct v1_address {
  v1_address(std::uint16_t at, std::string bearer = {}) : port(at), token(std::move(bearer)) {}

  std::uint16_t port;
  std::string token; ///< empty: none is sent
};

/// One call on a connection of its own, as the existing client makes it: no redirect is followed,
/// nothing is compressed. Reads with a deadline.
class v1_call {
public:
  using clock = std::chrono::steady_clock;

  /// `receive_buffer` in bytes, if not 0, bounds what the client's machine takes unread.
  v1_call(const v1_address& to, const std::string& method, const std::string& path,
          const std::string& body = {}, int receive_buffer = 0);
  ~v1_call();
  v1_call(const v1_call&) = delete;
  v1_call& operator=(const v1_call&) = delete;

  /// Reads until `text` has arrived. False at the deadline or the end of the connection.
  bool read_until(std::string_view text);
  /// Reads what comes next, at the latest until then. False if nothing did or the answer is whole.
  bool read_more(clock::time_point until);
  /// Reads to the end of the answer, then closes as clients do.
  void read_all();
  /// True if what has arrived and was not read ends like this.
  [[nodiscard]] bool has_waiting(std::string_view text) const;
  /// True if the answer is whole.
  [[nodiscard]] bool complete() const;
  /// Closes: politely, or with a reset.
  void leave(bool by_reset);

  [[nodiscard]] int status() const;
  /// True if the body ended as HTTP says it must.
  [[nodiscard]] bool ended_properly() const;
  /// The body without the framing of chunks.
  [[nodiscard]] std::string body() const;
  [[nodiscard]] json parsed() const;
  /// The frames of a v1 stream as the existing client sees them.
  [[nodiscard]] std::vector<json> frames() const;
  [[nodiscard]] std::string joined() const;
  [[nodiscard]] const std::string& received() const { return received_; }

private:
  bool read_some(clock::time_point until);

  int socket_ = -1;
  std::string received_;
  bool ended_ = false;
  clock::time_point deadline_;
};

/// A whole call.
struct v1_answer {
  int status = 0;
  json body;
};
v1_answer call(const v1_address& to, const std::string& method, const std::string& path,
               const std::string& body = {});

/// Tries `condition` until it holds. False after 10 s.
template <class Condition>
bool eventually(Condition condition);

} // namespace v1_test

#include <thread>

template <class Condition>
bool v1_test::eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}
