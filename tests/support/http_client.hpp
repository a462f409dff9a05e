#pragma once

#include "base/json.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tidemark::test {

/// An answer as it came. Header names are in lower case.
struct http_reply {
  int status = 0; ///< 0: no answer at all
  std::map<std::string, std::string> headers;
  std::string body;

  /// The body as JSON; null if it is none.
  [[nodiscard]] json parsed() const;
};

struct http_call {
  std::string method = "GET";
  std::string path;
  std::optional<std::string> body = {};
  std::map<std::string, std::string> headers = {};
  std::chrono::milliseconds limit = std::chrono::seconds(30);
};

/// A client of one server. Every call is a connection of its own, as the existing clients do it.
/// Thread-safe.
class http_client {
public:
  http_client(std::string url, std::string token)
    : url_(std::move(url)),
      token_(std::move(token)) {}

  http_reply send(const http_call& call) const;
  http_reply get(const std::string& path) const;
  http_reply post(const std::string& path, const json& body = json::object(),
                  std::map<std::string, std::string> headers = {}) const;
  http_reply remove(const std::string& path) const;

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const std::string& token() const { return token_; }

private:
  std::string url_;
  std::string token_;
};

/// One frame of an event stream.
struct sse_frame {
  std::string id;
  std::string event; ///< empty if the frame names none
  std::string data;

  [[nodiscard]] json parsed() const;
  /// The offset in an id `<epoch>-<offset>`; 0 if there is none.
  [[nodiscard]] std::uint64_t offset() const;
};

/// How a reader leaves.
enum class leaving {
  politely,
  by_reset,
  silently ///< its network is gone: nothing arrives and nothing is said, until its destruction
};

/// Follows an event stream on a thread of its own. Thread-safe.
class sse_reader {
public:
  struct options {
    std::string method = "GET";
    std::optional<std::string> body = {};
    std::map<std::string, std::string> headers = {};
    bool stalled = false;      ///< takes no byte after the response's head until `resume`
    long bytes_per_second = 0; ///< 0: as fast as it comes
  };

  sse_reader(const http_client& client, const std::string& path);
  sse_reader(const http_client& client, const std::string& path, options how);
  /// Leaves politely.
  ~sse_reader();
  sse_reader(const sse_reader&) = delete;
  sse_reader& operator=(const sse_reader&) = delete;

  using frames = std::vector<sse_frame>;

  /// Waits until `enough` holds for the frames so far. False if it does not within `limit` or the
  /// stream has ended without it.
  bool wait(const std::function<bool(const frames&)>& enough,
            std::chrono::milliseconds limit = std::chrono::seconds(15)) const;
  /// Waits for a frame of this event type (or whose data has this `type`).
  bool wait_for(const std::string& type,
                std::chrono::milliseconds limit = std::chrono::seconds(15)) const;
  /// Waits for the response's head.
  bool wait_for_status(std::chrono::milliseconds limit = std::chrono::seconds(10)) const;
  /// Waits for the stream's end. False if it still runs after `limit`.
  bool wait_for_end(std::chrono::milliseconds limit = std::chrono::seconds(15)) const;

  [[nodiscard]] frames all() const;
  /// The frames that carry events of the log: not hello, gap or end.
  [[nodiscard]] frames events() const;
  [[nodiscard]] std::string raw() const;
  [[nodiscard]] int status() const;
  [[nodiscard]] std::map<std::string, std::string> headers() const;
  /// True if the body ended as HTTP says it must; only after the end.
  [[nodiscard]] bool ended_properly() const;
  /// The last id seen, for `Last-Event-ID`.
  [[nodiscard]] std::string last_id() const;

  void resume();
  void leave(leaving how = leaving::politely);

private:
  struct connection;
  void run();
  void take(std::string_view bytes);

  std::unique_ptr<connection> connection_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::string raw_;
  std::size_t parsed_to_ = 0;
  frames frames_;
  bool ended_ = false;
  bool properly_ = false;
  std::thread thread_;
};

/// The frames of a finished event-stream body.
std::vector<sse_frame> parse_sse(std::string_view body);

/// Percent-encodes what cannot stand in a path or query.
std::string url_encode(std::string_view text);

} // namespace tidemark::test
