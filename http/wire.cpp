#include "http/wire.hpp"

#include <boost/beast/core/buffers_suffix.hpp>

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

namespace tidemark {

namespace {

constexpr std::size_t read_piece = 64 << 10;
constexpr std::size_t small_read_piece = 4 << 10;

} // namespace

wire::wire(tcp_socket socket, std::size_t max_input)
  : socket_(std::move(socket)),
    input_(max_input) {}

wire::outcome wire::outcome_of(const boost::system::error_code& failed) {
  if (!failed)
    return outcome::done;
  return expired_ ? outcome::timed_out : outcome::closed;
}

wire::task<wire::outcome> wire::read_some(std::optional<clock::time_point> deadline) {
  // Small at first: thousands of idle connections should not hold 64 KiB each.
  const auto wanted = input_.size() < small_read_piece ? small_read_piece : read_piece;
  const auto room = std::min(wanted, input_.max_size() - input_.size());
  if (room == 0)
    co_return outcome::full;
  read_by_ = deadline;
  const auto target = input_.prepare(room);
  const auto result = co_await socket_.async_read_some(target, as_result);
  read_by_.reset();
  input_.commit(std::get<1>(result));
  peer_ended_ = peer_ended_ || std::get<0>(result) == boost::asio::error::eof;
  co_return outcome_of(std::get<0>(result));
}

wire::task<wire::outcome> wire::write(std::array<boost::asio::const_buffer, 3> pieces,
                                      clock::duration stall) {
  will_write(stall);
  auto rest = boost::beast::buffers_suffix<std::array<boost::asio::const_buffer, 3>>{pieces};
  while (boost::asio::buffer_size(rest) > 0) {
    write_by_ = clock::now() + stall;
    const auto result = co_await socket_.async_write_some(rest, as_result);
    write_by_.reset();
    if (std::get<0>(result))
      co_return outcome_of(std::get<0>(result));
    rest.consume(std::get<1>(result));
  }
  co_return outcome::done;
}

wire::task<wire::outcome> wire::write(std::string_view bytes, clock::duration stall) {
  will_write(stall);
  auto rest = boost::asio::const_buffer{bytes.data(), bytes.size()};
  while (rest.size() > 0) {
    write_by_ = clock::now() + stall;
    const auto result = co_await socket_.async_write_some(rest, as_result);
    write_by_.reset();
    if (std::get<0>(result))
      co_return outcome_of(std::get<0>(result));
    rest += std::get<1>(result);
  }
  co_return outcome::done;
}

wire::task<void> wire::linger(clock::duration limit) {
  boost::system::error_code ignored;
  socket_.shutdown(tcp_socket::shutdown_send, ignored);
  const auto deadline = clock::now() + limit;
  for (auto going = !ignored; going;) {
    input_.clear();
    const auto result = co_await read_some(deadline);
    going = result == outcome::done && clock::now() < deadline;
  }
}

void wire::end_output() {
  boost::system::error_code ignored;
  socket_.shutdown(tcp_socket::shutdown_send, ignored);
}

bool wire::stands() {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (!socket_.is_open()
      || ::getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
    return false;
  constexpr int established = 1;
  constexpr int close_wait = 8;
  return info.tcpi_state == established || info.tcpi_state == close_wait;
}

bool wire::peer_left() {
  tcp_info info{};
  socklen_t size = sizeof info;
  constexpr int established = 1; // linux/tcp.h, tcp_states.h
  return !socket_.is_open()
         || ::getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0
         || info.tcpi_state != established;
}

bool wire::all_acknowledged() {
  int unsent = 0;
  // A reset also empties the send queue, so the state is asked after it.
  return socket_.is_open() && ::ioctl(socket_.native_handle(), SIOCOUTQ, &unsent) == 0
         && unsent == 0 && stands();
}

void wire::will_write(clock::duration stall) {
  stall_ = stall;
  if (!unproven_since_)
    unproven_since_ = clock::now();
}

bool wire::is_unheard(clock::time_point now) {
  if (!unproven_since_)
    return false;
  tcp_info info{};
  socklen_t size = sizeof info;
  // A peer that lives and reads nothing acknowledges what it has no room to take: then all that is
  // left is unsent, and a matter of the write's own deadline.
  if (!socket_.is_open()
      || ::getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0
      || info.tcpi_unacked == 0) {
    unproven_since_.reset();
    return false;
  }
  const auto heard = std::chrono::milliseconds{info.tcpi_last_ack_recv};
  return std::min<clock::duration>(now - *unproven_since_, heard) >= stall_;
}

void wire::expire(clock::time_point now) {
  const auto late = (read_by_ && *read_by_ <= now) || (write_by_ && *write_by_ <= now);
  if (!late) {
    // Not a matter of time to who waits: the peer has gone, if without a word.
    if (is_unheard(now))
      socket_.cancel();
    return;
  }
  expired_ = true;
  read_by_.reset();
  write_by_.reset();
  socket_.cancel();
}

void wire::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

} // namespace tidemark
