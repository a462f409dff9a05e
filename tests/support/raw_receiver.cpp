#include "tests/support/raw_receiver.hpp"

#include <array>
#include <cstdlib>
#include <stdexcept>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tidemark::test {
namespace {

constexpr int look_at_the_end_ms = 20;

bool is_ready(int of, short what) {
  pollfd ready{of, what, 0};
  return ::poll(&ready, 1, look_at_the_end_ms) > 0;
}

} // namespace

raw_receiver::raw_receiver(play answer) : answer_(std::move(answer)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* as_any = reinterpret_cast<sockaddr*>(&address);
  constexpr int backlog = 128;
  if (::bind(listener_, as_any, size) != 0 || ::listen(listener_, backlog) != 0
      || ::getsockname(listener_, as_any, &size) != 0)
    throw std::runtime_error("cannot listen on loopback");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { accept_all(); });
}

raw_receiver::~raw_receiver() {
  ending_ = true;
  thread_.join();
  for (auto& each : connections_)
    each.join();
  ::close(listener_);
}

bool raw_receiver::send(int connection, std::string_view bytes) const {
  while (!bytes.empty()) {
    if (ending_)
      return false;
    if (!is_ready(connection, POLLOUT))
      continue;
    const auto sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void raw_receiver::wait_for_leaving(int connection) const {
  std::array<char, 1024> piece{};
  while (!ending_)
    if (is_ready(connection, POLLIN) && ::recv(connection, piece.data(), piece.size(), 0) <= 0)
      return;
}

void raw_receiver::accept_all() {
  while (!ending_) {
    if (!is_ready(listener_, POLLIN))
      continue;
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0)
      continue;
    connections_.emplace_back([this, connection] {
      if (take_request(connection)) {
        ++requests_;
        answer_(*this, connection);
      }
      ::close(connection);
    });
  }
}

/// True once a whole request is there; false if the client left, or spoke TLS.
bool raw_receiver::take_request(int connection) const {
  std::string text;
  std::array<char, 16384> piece{};
  while (!ending_) {
    if (!is_ready(connection, POLLIN))
      continue;
    const auto count = ::recv(connection, piece.data(), piece.size(), 0);
    if (count <= 0)
      return false;
    text.append(piece.data(), static_cast<std::size_t>(count));
    if (!text.starts_with('P'))
      return true;
    const auto head = text.find("\r\n\r\n");
    const auto length = text.find("Content-Length: ");
    if (head != text.npos && length < head
        && text.size() >= head + 4 + std::strtoul(text.c_str() + length + 16, nullptr, 10))
      return true;
  }
  return false;
}

} // namespace tidemark::test
