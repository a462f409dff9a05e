#include "bench/loopback.hpp"

#include "bench/errno_failure.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace tidemark::bench {

namespace {

constexpr timeval patience{60, 0};

} // namespace

loopback::loopback(const std::string& url) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (fd_ < 0)
    fail_with_errno("cannot make a socket");
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(url.c_str() + url.rfind(':') + 1)));
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0)
    return;
  const auto why = errno;
  ::close(fd_);
  errno = why;
  fail_with_errno("cannot connect");
}

loopback::~loopback() {
  if (fd_ >= 0)
    ::close(fd_);
}

loopback::loopback(loopback&& other) noexcept
  : fd_(std::exchange(other.fd_, -1)),
    received_(std::move(other.received_)) {}

void loopback::send(std::string_view method, std::string_view path, std::string_view token,
                    std::string_view body, std::string_view accept) {
  auto request =
    fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\nAccept: {}\r\n",
                method, path, token, accept);
  if (!body.empty())
    request += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  request += "\r\n";
  request += body;
  for (std::string_view rest{request}; !rest.empty();) {
    const auto sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0)
      fail_with_errno("cannot send");
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string loopback::read_until(std::string_view mark) {
  std::array<char, 16 << 10> piece{};
  while (received_.find(mark) == std::string::npos) {
    const auto got = ::recv(fd_, piece.data(), piece.size(), 0);
    if (got < 0)
      fail_with_errno("no answer");
    if (got == 0)
      throw std::runtime_error("the connection ended early, after:\n" + received_);
    received_.append(piece.data(), static_cast<std::size_t>(got));
  }
  return received_;
}

} // namespace tidemark::bench
