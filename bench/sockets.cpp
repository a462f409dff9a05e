#include "bench/sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::size_t read_bytes = 256 << 10;

void require(bool done, const char* what) {
  if (!done)
    throw std::runtime_error(fmt::format("{} failed", what));
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int connect_to(std::uint16_t port) {
  const auto address = loopback(port);
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require(made >= 0, "socket");
  require(::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
          "connect");
  return made;
}

void connect_pair(int (&ends)[2]) {
  auto address = loopback(0);
  socklen_t size = sizeof address;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
  require(::listen(listener, 1) == 0, "listen");
  require(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0,
          "getsockname");
  ends[0] = connect_to(ntohs(address.sin_port));
  ends[1] = ::accept(listener, nullptr, nullptr);
  ::close(listener);
  require(ends[1] >= 0, "accept");
}

} // namespace

drained_socket::drained_socket(kind what) {
  if (what == kind::tcp)
    connect_pair(ends_);
  else
    require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0, "socketpair");
  reader_ = std::thread{[this] {
    std::vector<char> buffer(read_bytes);
    while (::read(ends_[1], buffer.data(), buffer.size()) > 0) {}
  }};
}

drained_socket::~drained_socket() {
  finish();
  ::close(ends_[1]);
}

void drained_socket::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(ends_[0], bytes.data(), bytes.size());
    require(n > 0, "write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void drained_socket::finish() {
  if (!reader_.joinable())
    return;
  ::close(ends_[0]);
  reader_.join();
}

frames_read read_frames(std::uint16_t port, std::string_view target, std::size_t frames) {
  const int socket = connect_to(port);
  const auto request =
    fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n", target);
  require(::write(socket, request.data(), request.size()) > 0, "write");
  frames_read sum;
  std::vector<char> buffer(read_bytes);
  bool line_feed = false; // the last byte was one
  while (sum.frames < frames) {
    const auto n = ::read(socket, buffer.data(), buffer.size());
    require(n > 0, "read");
    const auto size = static_cast<std::size_t>(n);
    sum.bytes += size;
    // Two line feeds end a frame; chunk headers have none without a carriage return before it.
    const std::string_view got{buffer.data(), size};
    sum.frames += line_feed && got.front() == '\n';
    for (auto at = got.find("\n\n"); at != got.npos; at = got.find("\n\n", at + 2))
      ++sum.frames;
    line_feed = got.back() == '\n' && !got.ends_with("\n\n");
  }
  ::close(socket);
  return sum;
}

} // namespace tidemark
