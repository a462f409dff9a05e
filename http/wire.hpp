#pragma once

#include "actors/bridge.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <string_view>

namespace tidemark {

/// One accepted socket with its deadlines. Used on its I/O thread only.
///
/// Deadlines are checked by one sweeping timer a thread (`expire`), so an operation costs no timer
/// of its own; they are kept to within one sweep.
class wire {
public:
  using executor = asio_unit::executor;
  using tcp_socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, executor>;
  using clock = std::chrono::steady_clock;
  template <class T>
  using task = boost::asio::awaitable<T, executor>;

  enum class outcome { done, closed, timed_out, full };

  wire(tcp_socket socket, std::size_t max_input);

  /// Adds what the peer sent to `input()`. `full` if there is no room for more.
  task<outcome> read_some(std::optional<clock::time_point> deadline);

  /// Sends all of it. `stall` is how long the peer may take no byte at all.
  task<outcome> write(std::array<boost::asio::const_buffer, 3> pieces, clock::duration stall);
  task<outcome> write(std::string_view bytes, clock::duration stall);

  /// Closes our side and reads what is still coming, so that the peer gets the answer before a
  /// reset can destroy it.
  task<void> linger(clock::duration limit);

  /// False once the connection was reset or lost.
  [[nodiscard]] bool stands();
  /// True once the peer has closed its side or the connection is gone; asks the kernel, reads nothing.
  [[nodiscard]] bool peer_left();
  /// True if the peer's machine has acknowledged every byte sent and the connection stands.
  [[nodiscard]] bool all_acknowledged();

  /// Tells the peer that nothing more comes.
  void end_output();
  /// The peer has closed its side in order, as far as reading has shown.
  [[nodiscard]] bool peer_ended() const { return peer_ended_; }

  /// The socket for a protocol that takes the connection over, and the deadline of what it writes.
  [[nodiscard]] tcp_socket& socket() { return socket_; }
  void write_until(std::optional<clock::time_point> deadline) { write_by_ = deadline; }

  /// Cancels operations whose deadline has passed, and all of a connection whose peer's machine
  /// acknowledges nothing for the `stall` of the last write: its network is gone.
  void expire(clock::time_point now);
  /// Ends all operations; the coroutine that owns the connection then leaves.
  void close();

  [[nodiscard]] boost::beast::flat_buffer& input() { return input_; }
  [[nodiscard]] executor get_executor() { return socket_.get_executor(); }

private:
  outcome outcome_of(const boost::system::error_code& failed);
  void will_write(clock::duration stall);
  bool is_unheard(clock::time_point now);

  tcp_socket socket_;
  boost::beast::flat_buffer input_;
  std::optional<clock::time_point> read_by_;
  std::optional<clock::time_point> write_by_;
  clock::duration stall_{};
  std::optional<clock::time_point> unproven_since_; ///< written then, perhaps not acknowledged yet
  bool expired_ = false;
  bool peer_ended_ = false;
};

} // namespace tidemark
