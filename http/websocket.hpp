#pragma once

#include "http/exchange.hpp"
#include "http/wake_event.hpp"
#include "http/wire.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

/// A WebSocket's server side (RFC 6455) for text messages. Used by two coroutines of its I/O thread:
/// one reads, the other one alone writes, pings and closes.
class websocket {
public:
  using clock = wire::clock;
  struct limits {
    std::size_t message_bytes = 1 << 20; ///< larger ones close with 1009
    clock::duration stall{};             ///< how long the peer may take for one message of ours
  };
  /// Close codes of RFC 6455, 7.4.1.
  enum close_code : std::uint16_t {
    normal = 1000,
    going_away = 1001,
    unsupported_data = 1003,
    policy_violation = 1008,
    internal_error = 1011
  };

  /// Whether a request asks for one.
  static bool is_wanted(const boost::beast::http::request_header<>& request);
  /// Answers the handshake. Null if it is broken; then the peer was told so.
  static task<std::unique_ptr<websocket>> accept(std::shared_ptr<wire> line,
                                                 std::shared_ptr<wake_event> wake,
                                                 const http_request& request, limits with);
  ~websocket();

  /// The next text message into `message`. False when nothing follows: the peer has left, or broke
  /// the protocol and was told so by a close code.
  task<bool> read(std::string& message);
  /// False once the peer is gone or too slow.
  task<bool> write(std::string_view text);
  task<bool> ping();
  /// Says why, and waits some seconds for the peer to agree.
  task<void> close(close_code code, std::string_view reason);

  /// Ends the connection at once; `read` then returns.
  void drop();

  /// Waits until `waker()` was called or `limit` has passed.
  task<void> wait(clock::duration limit);
  /// Wakes `wait`; callable on any thread.
  [[nodiscard]] std::function<void()> waker() const;

  /// When the peer last sent anything.
  [[nodiscard]] clock::time_point heard() const;
  /// True once the peer has closed its side or the connection is gone, though nobody is reading.
  [[nodiscard]] bool peer_left();
  /// What `read` wants `close` to say, if it ended over a message that is not text.
  [[nodiscard]] std::optional<close_code> complaint() const;

private:
  struct state;
  explicit websocket(std::unique_ptr<state> opened);
  std::unique_ptr<state> state_;
};

} // namespace tidemark
