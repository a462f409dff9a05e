#pragma once

#include "actors/bridge.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "http/services.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

// One request and its answer, as the route handlers see them. A handler is a coroutine that reads
// top to bottom: take parameters, ask a workspace, answer. Errors leave by one door (send_error).
namespace tidemark {

template <class T>
using task = boost::asio::awaitable<T, asio_unit::executor>;

using http_request = boost::beast::http::request<boost::beast::http::string_body>;

/// A response body sent piece by piece with chunked encoding. Used by one coroutine.
class body_stream {
public:
  virtual ~body_stream() = default;
  /// False once the client is gone or too slow (options.write_timeout without progress).
  virtual task<bool> write(std::string_view bytes) = 0;
  /// Ends the body properly. True if the client's machine has acknowledged every byte.
  virtual task<bool> finish() = 0;
  /// Waits until `wake()` was called, the client has left, or `limit` has passed.
  virtual task<void> wait(std::chrono::steady_clock::duration limit) = 0;
  /// Wakes `wait`; callable from any thread, through a copy of this function.
  [[nodiscard]] virtual std::function<void()> waker() = 0;
  /// True once the client has closed its side or the connection broke.
  [[nodiscard]] virtual bool client_left() const = 0;
};

/// One request in progress.
class exchange {
public:
  virtual ~exchange() = default;

  [[nodiscard]] virtual const http_request& request() const = 0;
  /// A path parameter of the route's template, percent-decoded.
  [[nodiscard]] virtual const std::string& param(std::string_view name) const = 0;
  /// A query parameter, percent-decoded; the first if it is given twice.
  [[nodiscard]] virtual std::optional<std::string> query(std::string_view name) const = 0;
  [[nodiscard]] virtual std::optional<std::string> header(std::string_view name) const = 0;
  [[nodiscard]] virtual http_services& services() = 0;
  [[nodiscard]] virtual gateway& actors() = 0;

  /// Answers with JSON, once. Extra headers as name -> value.
  virtual task<bool> send(int status, std::string json_text,
                          std::map<std::string, std::string> headers = {}) = 0;
  virtual task<bool> send_text(int status, std::string content_type, std::string body) = 0;
  /// Starts a streamed answer: headers are flushed at once.
  virtual task<std::unique_ptr<body_stream>> stream(int status, std::string content_type,
                                                    std::map<std::string, std::string> headers = {}) = 0;

  /// Runs `work` on the blocking pool and comes back to this thread with its result.
  template <class F>
  task<std::invoke_result_t<F>> blocking(F work);

  /// Asks a workspace through the directory. `Answer` is the alternative the command is answered with.
  template <class Answer>
  task<expected<Answer>> ask(std::string workspace, bool create, command what);
};

using route_handler = std::function<task<void>(exchange&)>;

} // namespace tidemark
