#include "tests/support/v1_client.hpp"

#include "tests/support/v1_lines.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace v1_test {

v1_call::v1_call(const v1_address& to, const std::string& method, const std::string& path,
                 const std::string& body, int receive_buffer)
  : deadline_(clock::now() + std::chrono::seconds{20}) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer > 0)
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(to.port);
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0)
    throw std::runtime_error("cannot connect");
  auto request = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                 + std::to_string(body.size()) + "\r\n";
  if (!body.empty())
    request += "Content-Type: application/json\r\n";
  if (!to.token.empty())
    request += "Authorization: Bearer " + to.token + "\r\n";
  request += "\r\n" + body;
  for (std::string_view rest = request; !rest.empty();) {
    const auto sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      throw std::runtime_error("cannot send");
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

v1_call::~v1_call() {
  leave(false);
}

void v1_call::leave(bool by_reset) {
  if (socket_ < 0)
    return;
  const linger reset{1, 0};
  if (by_reset)
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  ::close(socket_);
  socket_ = -1;
}

bool v1_call::read_some(clock::time_point until) {
  // Up, so that a wait that has timed out has reached its time.
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now());
  pollfd wait{socket_, POLLIN, 0};
  if (ended_ || socket_ < 0 || left.count() <= 0
      || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0)
    return false;
  char buffer[65536];
  const auto got = ::recv(socket_, buffer, sizeof buffer, 0);
  if (got > 0)
    received_.append(buffer, static_cast<std::size_t>(got));
  else
    ended_ = true;
  return got > 0;
}

bool v1_call::read_until(std::string_view text) {
  while (received_.find(text) == std::string::npos)
    if (!read_some(deadline_))
      return false;
  return true;
}

bool v1_call::read_more(clock::time_point until) {
  return !complete() && read_some(until);
}

void v1_call::read_all() {
  while (read_more(deadline_)) {}
  if (complete())
    leave(false);
}

bool v1_call::has_waiting(std::string_view text) const {
  char buffer[65536];
  const auto got = ::recv(socket_, buffer, sizeof buffer, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 && std::string_view{buffer, static_cast<std::size_t>(got)}.ends_with(text);
}

bool v1_call::complete() const {
  const auto head = received_.find("\r\n\r\n");
  if (head == std::string::npos)
    return false;
  if (received_.find("Transfer-Encoding: chunked") < head)
    return ended_properly();
  const auto at = received_.find("Content-Length: ");
  std::size_t length = 0;
  if (at < head)
    std::from_chars(received_.data() + at + 16, received_.data() + head, length);
  return received_.size() >= head + 4 + length;
}

bool v1_call::ended_properly() const {
  return received_.ends_with("\r\n0\r\n\r\n");
}

int v1_call::status() const {
  int status = 0;
  if (received_.starts_with("HTTP/1.1 "))
    std::from_chars(received_.data() + 9, received_.data() + 12, status);
  return status;
}

std::string v1_call::body() const {
  const auto head = received_.find("\r\n\r\n");
  if (head == std::string::npos)
    return {};
  std::string_view rest{received_};
  rest.remove_prefix(head + 4);
  if (received_.find("Transfer-Encoding: chunked") > head)
    return std::string{rest};
  std::string text;
  while (!rest.empty()) {
    std::size_t size = 0;
    const auto line = rest.find("\r\n");
    std::from_chars(rest.data(), rest.data() + std::min(line, rest.size()), size, 16);
    if (size == 0 || line == std::string_view::npos)
      break;
    text += rest.substr(line + 2, size);
    rest.remove_prefix(std::min(rest.size(), line + 2 + size + 2));
  }
  return text;
}

json v1_call::parsed() const {
  return json::parse(body(), nullptr, false);
}

std::vector<json> v1_call::frames() const {
  return python_client(body());
}

std::string v1_call::joined() const {
  std::string text;
  for (const auto& frame : frames())
    text += string_or(frame, "chunk");
  return text;
}

v1_answer call(const v1_address& to, const std::string& method, const std::string& path,
               const std::string& body) {
  v1_call made{to, method, path, body};
  made.read_all();
  return {made.status(), made.parsed()};
}

} // namespace v1_test
