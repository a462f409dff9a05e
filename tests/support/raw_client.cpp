#include "tests/support/raw_client.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace tidemark::test {

using clock = std::chrono::steady_clock;

raw_client::raw_client(std::uint16_t port)
  : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
    closed_ = true;
}

raw_client::~raw_client() {
  if (socket_ >= 0)
    ::close(socket_);
}

bool raw_client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool raw_client::receive(std::string& into, clock::time_point deadline) {
  const auto left =
    std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
  pollfd ready{socket_, POLLIN, 0};
  if (closed_ || left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) <= 0)
    return false;
  char piece[65536];
  const auto got = ::recv(socket_, piece, sizeof piece, 0);
  closed_ = got <= 0;
  if (!closed_)
    into.append(piece, static_cast<std::size_t>(got));
  return !closed_;
}

std::string raw_client::read_all(std::chrono::milliseconds limit) {
  const auto deadline = clock::now() + limit;
  std::string out;
  while (receive(out, deadline)) {}
  return out;
}

std::string raw_client::read_until(std::string_view mark, std::chrono::milliseconds limit) {
  const auto deadline = clock::now() + limit;
  std::string out;
  while (out.find(mark) == std::string::npos && receive(out, deadline)) {}
  return out;
}

void raw_client::end_output() {
  ::shutdown(socket_, SHUT_WR);
}

void raw_client::leave(bool abruptly) {
  if (abruptly) {
    linger now{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  ::close(socket_);
  socket_ = -1;
}

void raw_client::small_receive_buffer() {
  const int size = 4096;
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

int status_of(std::string_view response) {
  if (!response.starts_with("HTTP/1.") || response.size() < 12)
    return 0;
  return std::atoi(std::string{response.substr(9, 3)}.c_str());
}

std::string body_of(std::string_view response) {
  const auto end = response.find("\r\n\r\n");
  if (end == response.npos)
    return {};
  auto rest = response.substr(end + 4);
  if (response.substr(0, end).find("Transfer-Encoding: chunked") == response.npos)
    return std::string{rest};
  std::string out;
  for (;;) {
    const auto line = rest.find("\r\n");
    if (line == rest.npos)
      return out;
    const auto size = std::strtoul(std::string{rest.substr(0, line)}.c_str(), nullptr, 16);
    if (size == 0)
      return out;
    out += rest.substr(line + 2, size);
    rest.remove_prefix(std::min(rest.size(), line + 2 + size + 2));
  }
}

bool ends_properly(std::string_view response) {
  return response.ends_with("0\r\n\r\n");
}

} // namespace tidemark::test
