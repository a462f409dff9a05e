#include "tests/support/webhook_receiver.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tidemark::test {
namespace {

std::string hmac_of(const std::string& secret, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  unsigned int size = 0;
  ::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), code.data(), &size);
  std::string out;
  for (unsigned int i = 0; i < size; ++i) {
    constexpr auto* digits = "0123456789abcdef";
    out += digits[code[i] >> 4];
    out += digits[code[i] & 0xf];
  }
  return out;
}

std::map<std::string, std::string> headers_in(const std::string& head) {
  std::map<std::string, std::string> out;
  for (auto at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at + 2)) {
    const auto end = std::min(head.find("\r\n", at + 2), head.size());
    const auto line = head.substr(at + 2, end - at - 2);
    const auto colon = line.find(": ");
    if (colon == std::string::npos) {
      continue;
    }
    auto name = line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    out[name] = line.substr(colon + 2);
  }
  return out;
}

/// Receives more of the request. False if the client has left.
bool receive(int from, std::string& into) {
  std::array<char, 16384> piece{};
  const auto count = ::recv(from, piece.data(), piece.size(), 0);
  if (count <= 0) {
    return false;
  }
  into.append(piece.data(), static_cast<std::size_t>(count));
  return true;
}

} // namespace

json received_event::parsed() const {
  auto value = parse_json(body);
  return value ? std::move(*value) : json(nullptr);
}

std::uint64_t received_event::offset() const {
  return static_cast<std::uint64_t>(int_or(parsed(), "offset", 0));
}

std::string received_event::type() const {
  return string_or(parsed(), "type");
}

bool received_event::signed_with(const std::string& secret) const {
  const auto found = headers.find("tidemark-signature");
  if (found == headers.end()) {
    return false;
  }
  const auto& text = found->second;
  const auto comma = text.find(",v1=");
  if (!text.starts_with("t=") || comma == std::string::npos) {
    return false;
  }
  const auto time = text.substr(2, comma - 2);
  constexpr long window = 300;
  return std::labs(std::atol(time.c_str()) - static_cast<long>(std::time(nullptr))) < window
         && text.substr(comma + 4) == hmac_of(secret, time + "." + body);
}

webhook_receiver::webhook_receiver() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* as_any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, as_any, size) != 0 || ::listen(listener_, 64) != 0
      || ::getsockname(listener_, as_any, &size) != 0) {
    throw std::runtime_error("cannot listen on loopback");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

webhook_receiver::~webhook_receiver() {
  ending_ = true;
  thread_.join();
  ::close(listener_);
}

std::string webhook_receiver::url() const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/hook";
}

void webhook_receiver::answer_with(int status, std::string location) {
  const std::lock_guard lock(mutex_);
  status_ = status;
  location_ = std::move(location);
}

webhook_receiver::events webhook_receiver::all() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

webhook_receiver::events webhook_receiver::taken() const {
  auto out = all();
  std::erase_if(out, [](const auto& e) { return e.answered / 100 != 2; });
  return out;
}

bool webhook_receiver::wait(const std::function<bool(const events&)>& enough,
                            std::chrono::milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return enough(received_); });
}

bool webhook_receiver::wait_for_type(const std::string& type) const {
  return wait([&](const events& so_far) {
    return std::ranges::any_of(so_far, [&](const auto& e) { return e.type() == type; });
  });
}

void webhook_receiver::run() {
  while (!ending_) {
    pollfd ready{listener_, POLLIN, 0};
    constexpr int look_at_the_end_ms = 20;
    if (::poll(&ready, 1, look_at_the_end_ms) <= 0) {
      continue;
    }
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) {
      serve(connection);
      ::close(connection);
    }
  }
}

void webhook_receiver::serve(int connection) {
  timeval limit{5, 0};
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string text;
  auto head_ends = std::string::npos;
  while ((head_ends = text.find("\r\n\r\n")) == std::string::npos) {
    if (!receive(connection, text)) {
      return;
    }
  }
  received_event e;
  e.headers = headers_in(text.substr(0, head_ends));
  const auto length = std::strtoul(e.headers["content-length"].c_str(), nullptr, 10);
  while (text.size() < head_ends + 4 + length) {
    if (!receive(connection, text)) {
      return;
    }
  }
  e.body = text.substr(head_ends + 4, length);
  std::string answer;
  {
    const std::lock_guard lock(mutex_);
    e.answered = status_;
    answer = "HTTP/1.1 " + std::to_string(status_) + " x\r\nConnection: close\r\n"
             + (location_.empty() ? "" : "Location: " + location_ + "\r\n")
             + "Content-Length: 2\r\n\r\nok";
  }
  (void) ::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
  const std::lock_guard lock(mutex_);
  received_.push_back(std::move(e));
  changed_.notify_all();
}

} // namespace tidemark::test
