#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tidemark::test {

/// A receiver on loopback that answers as a test says, byte by byte, each connection on a thread of its
/// own. Thread-safe.
class raw_receiver {
public:
  /// Plays one answer into a connection whose request has come.
  using play = std::function<void(raw_receiver& from, int connection)>;

  explicit raw_receiver(play answer);
  ~raw_receiver();
  raw_receiver(const raw_receiver&) = delete;
  raw_receiver& operator=(const raw_receiver&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/hook";
  }
  [[nodiscard]] std::size_t requests() const { return requests_; }

  /// False once the client or this receiver has left.
  bool send(int connection, std::string_view bytes) const;
  /// Waits until the client or this receiver leaves.
  void wait_for_leaving(int connection) const;

private:
  void accept_all();
  bool take_request(int connection) const;

  play answer_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> ending_ = false;
  std::atomic<std::size_t> requests_ = 0;
  std::vector<std::thread> connections_; // of the accepting thread
  std::thread thread_;
};

} // namespace tidemark::test
