#include "tests/support/ws_client.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace tidemark::test {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view key = "dGhlIHNhbXBsZSBub25jZQ=="; // RFC 6455, 1.3
constexpr std::string_view accepted = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
constexpr std::array<unsigned char, 4> mask{0x37, 0xfa, 0x21, 0x3d};

std::string encode(unsigned char kind, std::string_view payload, bool last, bool masked) {
  std::string out;
  out += static_cast<char>((last ? 0x80 : 0) | kind);
  const auto size = payload.size();
  const unsigned char mark = masked ? 0x80 : 0;
  if (size < 126) {
    out += static_cast<char>(mark | size);
  } else {
    const int bytes = size < 65'536 ? 2 : 8;
    out += static_cast<char>(mark | (bytes == 2 ? 126 : 127));
    for (int i = bytes - 1; i >= 0; --i) {
      out += static_cast<char>((static_cast<std::uint64_t>(size) >> (8 * i)) & 0xFF);
    }
  }
  if (masked) {
    out.append(reinterpret_cast<const char*>(mask.data()), mask.size());
  }
  for (std::size_t i = 0; i < size; ++i) {
    out += static_cast<char>(static_cast<unsigned char>(payload[i]) ^ (masked ? mask[i % 4] : 0));
  }
  return out;
}

/// A slow reader has little room, or the kernel would read ahead for it.
void make_room_small(int socket) {
  const int size = 4096;
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

} // namespace

ws_client::ws_client(const http_client& server, const std::string& path)
  : ws_client(server, path, options()) {}

ws_client::ws_client(const http_client& server, const std::string& path, options how)
  : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
    how_(std::move(how)) {
  shake_hands(server, path, how_);
  pace_ = how_.bytes_per_second;
  if (how_.reads) {
    thread_ = std::thread([this] { run(); });
  }
}

ws_client::~ws_client() {
  leave(farewell::fin);
  if (thread_.joinable()) {
    thread_.join();
  }
  ::close(socket_);
}

void ws_client::shake_hands(const http_client& server, const std::string& path,
                            const options& how) {
  const auto& url = server.url();
  const auto colon = url.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (how.bytes_per_second > 0 || !how.reads) {
    make_room_small(socket_);
  }
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
    throw std::runtime_error("cannot connect to " + url);
  }
  std::map<std::string, std::string> headers{{"Host", url.substr(url.find("//") + 2)},
                                             {"Connection", "Upgrade"},
                                             {"Upgrade", "websocket"},
                                             {"Sec-WebSocket-Version", "13"},
                                             {"Sec-WebSocket-Key", std::string(key)}};
  if (how.with_token && !server.token().empty()) {
    headers["Authorization"] = "Bearer " + server.token();
  }
  for (const auto& [name, value] : how.headers) {
    headers[name] = value;
  }
  std::string request = "GET " + path + " HTTP/1.1\r\n";
  for (const auto& [name, value] : headers) {
    request += name + ": " + value + "\r\n";
  }
  send_bytes(request + "\r\n");
  std::string answer;
  std::array<char, 4096> piece{};
  while (answer.find("\r\n\r\n") == std::string::npos) {
    const auto got = ::recv(socket_, piece.data(), piece.size(), 0);
    if (got <= 0) {
      break;
    }
    answer.append(piece.data(), static_cast<std::size_t>(got));
  }
  status_ = answer.size() > 12 ? std::atoi(answer.substr(9, 3).c_str()) : 0;
  const auto head = std::min(answer.size(), answer.find("\r\n\r\n"));
  if (status_ == 101 && answer.substr(0, head).find(accepted) == std::string::npos) {
    blame("the handshake's answer does not hold the accepted key");
  }
  early_ = answer.substr(std::min(answer.size(), head + 4));
}

bool ws_client::send_bytes(std::string_view bytes) {
  const std::lock_guard lock(writing_);
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool ws_client::send_frame(opcode kind, std::string_view payload, bool last, bool masked) {
  return send_bytes(encode(kind, payload, last, masked));
}

bool ws_client::send(const json& message) {
  return send_frame(text, message.dump());
}

bool ws_client::type(const std::string& data) {
  return send(json::object({{"type", "input"}, {"data", data}}));
}

bool ws_client::resize(std::int64_t rows, std::int64_t columns) {
  return send(json::object({{"type", "resize"}, {"rows", rows}, {"cols", columns}}));
}

void ws_client::run() {
  std::string bytes = std::move(early_);
  std::array<char, 65'536> piece{};
  for (;;) {
    while (status_ == 101 && take_frame(bytes)) {}
    const auto got = ::recv(socket_, piece.data(), piece.size(), 0);
    if (got <= 0 || leaving_) {
      break;
    }
    bytes.append(piece.data(), static_cast<std::size_t>(got));
    received_ += static_cast<std::size_t>(got);
    if (const long pace = pace_; pace > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(got * 1'000'000 / pace));
    }
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

/// Takes one whole frame off the front. False if there is none yet.
bool ws_client::take_frame(std::string& bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() < 2) {
    return false;
  }
  std::size_t head = 2;
  std::uint64_t size = at(1) & 0x7F;
  const std::size_t more = size == 126 ? 2 : size == 127 ? 8 : 0;
  if (bytes.size() < head + more) {
    return false;
  }
  for (std::size_t i = 0; i < more; ++i) {
    size = (i == 0 ? 0 : size << 8) | at(head + i);
  }
  head += more;
  if (bytes.size() < head + size) {
    return false;
  }
  if ((at(1) & 0x80) != 0) {
    blame("a server's frame is masked");
  }
  if ((at(0) & 0xF0) != 0x80) {
    blame("a frame is fragmented or has reserved bits");
  }
  take_message(at(0) & 0x0F, bytes.substr(head, size));
  bytes.erase(0, head + size);
  return true;
}

void ws_client::take_message(unsigned char kind, std::string payload) {
  constexpr unsigned char ponging = 10;
  if (kind == pinging && how_.answers_pings) {
    send_bytes(encode(ponging, payload, true, true));
  }
  if (kind == closing) {
    send_frame(closing, payload);
  }
  if (kind == text && repair_utf8(payload) != payload) {
    blame("a text frame is no UTF-8");
  }
  json message = kind == text ? json::parse(payload, nullptr, false) : json();
  const std::lock_guard lock(mutex_);
  if (kind == text && !message.is_object()) {
    fault_ += "a text frame is no JSON object: " + payload.substr(0, 80) + "\n";
  } else if (kind == text) {
    if (string_or(message, "type") == "output") {
      output_ += string_or(message, "data");
    }
    messages_.push_back(std::move(message));
  } else if (kind == closing) {
    close_code_ = payload.size() < 2 ? 1005
                                     : static_cast<unsigned char>(payload[0]) * 256
                                         + static_cast<unsigned char>(payload[1]);
    close_reason_ = payload.size() < 2 ? "" : payload.substr(2);
  } else if (kind == pinging) {
    ++pings_;
  } else if (kind == ponging) {
    ++pongs_;
  } else {
    fault_ += "a frame of kind " + std::to_string(kind) + "\n";
  }
  changed_.notify_all();
}

void ws_client::blame(const std::string& what) {
  const std::lock_guard lock(mutex_);
  fault_ += what + "\n";
}

bool ws_client::wait(const std::function<bool(const messages&)>& enough, milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return enough(messages_) || ended_; })
         && enough(messages_);
}

json ws_client::wait_for(const std::string& type, milliseconds limit) const {
  json found;
  wait(
    [&](const messages& so_far) {
      const auto at = std::find_if(so_far.begin(), so_far.end(), [&](const json& each) {
        return string_or(each, "type") == type;
      });
      found = at == so_far.end() ? json() : *at;
      return !found.is_null();
    },
    limit);
  return found;
}

bool ws_client::wait_for_output(const std::string& wanted, milliseconds limit) const {
  return wait([&](const messages&) { return output_.find(wanted) != std::string::npos; }, limit);
}

bool ws_client::wait_for_end(milliseconds limit) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return ended_; });
}

ws_client::messages ws_client::all() const {
  const std::lock_guard lock(mutex_);
  return messages_;
}

std::string ws_client::output() const {
  const std::lock_guard lock(mutex_);
  return output_;
}

int ws_client::close_code() const {
  const std::lock_guard lock(mutex_);
  return close_code_;
}

std::string ws_client::close_reason() const {
  const std::lock_guard lock(mutex_);
  return close_reason_;
}

std::size_t ws_client::pings() const {
  const std::lock_guard lock(mutex_);
  return pings_;
}

std::size_t ws_client::pongs() const {
  const std::lock_guard lock(mutex_);
  return pongs_;
}

std::string ws_client::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

void ws_client::leave(farewell how) {
  if (how == farewell::close_frame) {
    send_frame(closing, std::string("\x03\xe8", 2));
    return;
  }
  if (how == farewell::fin) {
    ::shutdown(socket_, SHUT_RDWR);
    return;
  }
  constexpr linger at_once{.l_onoff = 1, .l_linger = 0}; // then close() is a reset
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  leaving_ = true;
  ::shutdown(socket_, SHUT_RD);
  if (thread_.joinable()) {
    thread_.join();
  }
  ::close(std::exchange(socket_, -1));
}

} // namespace tidemark::test
