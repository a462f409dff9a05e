#pragma once

#include "base/json.hpp"
#include "tests/support/http_client.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tidemark::test {

/// A WebSocket client (RFC 6455) over a plain socket, so that a test decides about every byte. Reads
/// on a thread of its own and judges what it gets. Thread-safe.
class ws_client {
public:
  struct options {
    std::map<std::string, std::string> headers = {}; ///< a header here wins over the client's own
    bool with_token = true;                          ///< Authorization, if the client has a token
    long bytes_per_second = 0;                       ///< 0: as fast as it comes
    bool answers_pings = true;
    bool reads = true; ///< false: takes no byte after the handshake
  };
  enum opcode : unsigned char { continuation = 0, text = 1, binary = 2, closing = 8, pinging = 9 };

  /// Shakes hands; `status` tells how that went.
  ws_client(const http_client& server, const std::string& path);
  ws_client(const http_client& server, const std::string& path, options how);
  ~ws_client();
  ws_client(const ws_client&) = delete;
  ws_client& operator=(const ws_client&) = delete;

  /// Of the answer to the handshake; 101 if it is a WebSocket.
  [[nodiscard]] int status() const { return status_; }

  /// One text message. False once the server takes nothing any more.
  bool send(const json& message);
  bool send_frame(opcode kind, std::string_view payload, bool last = true, bool masked = true);
  bool send_bytes(std::string_view bytes);
  /// `{"type":"input","data":…}`.
  bool type(const std::string& data);
  bool resize(std::int64_t rows, std::int64_t columns);

  using messages = std::vector<json>;
  /// Waits until `enough` holds for the messages so far.
  bool wait(const std::function<bool(const messages&)>& enough,
            std::chrono::milliseconds limit = std::chrono::seconds(15)) const;
  /// Waits for a message of this type and returns it; null if none came.
  [[nodiscard]] json wait_for(const std::string& type,
                              std::chrono::milliseconds limit = std::chrono::seconds(15)) const;
  /// Waits until this text stands in the joined output.
  bool wait_for_output(const std::string& text,
                       std::chrono::milliseconds limit = std::chrono::seconds(15)) const;
  /// Waits for the end of the connection.
  bool wait_for_end(std::chrono::milliseconds limit = std::chrono::seconds(15)) const;

  [[nodiscard]] messages all() const;
  /// The `data` of all `output`s, joined.
  [[nodiscard]] std::string output() const;
  /// Code of the server's close frame; 0 if there was none.
  [[nodiscard]] int close_code() const;
  [[nodiscard]] std::string close_reason() const;
  [[nodiscard]] std::size_t pings() const;
  [[nodiscard]] std::size_t pongs() const;
  /// Bytes since the handshake, also of frames that are not whole yet.
  [[nodiscard]] std::size_t received() const { return received_; }
  /// What the server sent against RFC 6455 or the contract; empty if nothing.
  [[nodiscard]] std::string fault() const;

  /// Reads on as fast as it comes.
  void hurry() { pace_ = 0; }

  enum class farewell { close_frame, fin, reset };
  void leave(farewell how = farewell::close_frame);

private:
  struct frame;
  void shake_hands(const http_client& server, const std::string& path, const options& how);
  void run();
  bool take_frame(std::string& bytes);
  void take_message(unsigned char kind, std::string payload);
  void blame(const std::string& what);

  int socket_ = -1;
  std::atomic<bool> leaving_ = false;
  std::atomic<long> pace_ = 0;
  std::atomic<std::size_t> received_ = 0;
  int status_ = 0;
  options how_;
  std::string early_; // came with the handshake's answer
  std::mutex writing_;
  mutable std::mutex mutex_; // guards what follows
  mutable std::condition_variable changed_;
  messages messages_;
  std::string output_;
  std::string fault_;
  int close_code_ = 0;
  std::string close_reason_;
  std::size_t pings_ = 0;
  std::size_t pongs_ = 0;
  bool ended_ = false;
  std::thread thread_;
};

} // namespace tidemark::test
