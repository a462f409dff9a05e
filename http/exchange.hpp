#pragma once

#include "actors/bridge.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "http/gatekeeper.hpp"
#include "http/request_parameters.hpp"
#include "http/services.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

// One request and its answer, as the route handlers see them. A handler is a coroutine that reads
// top to bottom: take parameters, ask a workspace, answer. Errors leave by one door (send_error).
namespace tidemark {

template <class T>
using task = boost::asio::awaitable<T, asio_unit::executor>;

using http_request = boost::beast::http::request<boost::beast::http::string_body>;

/// A response body sent piece by piece with chunked encoding. Used by one coroutine. One that goes
/// without `finish` breaks the connection: its client sees that the body is not whole.
class body_stream {
public:
  virtual ~body_stream() = default;
  /// False once the client is gone or too slow (options.write_timeout without progress).
  virtual task<bool> write(std::string_view bytes) = 0;
  /// Ends the body properly. True if the client's machine has acknowledged every byte and the
  /// client did not throw the connection away then.
  virtual task<bool> finish() = 0;
  /// Waits until `wake()` was called, the client has left, or `limit` has passed.
  virtual task<void> wait(std::chrono::steady_clock::duration limit) = 0;
  /// Wakes `wait`; callable from any thread, through a copy of this function.
  [[nodiscard]] virtual std::function<void()> waker() = 0;
  /// True once the client has closed its side or the connection broke.
  [[nodiscard]] virtual bool client_left() const = 0;
};

class websocket; // http/websocket.hpp

/// Work on the blocking pool, begun by a coroutine that does something else until it needs the result.
template <class Result>
class pool_work {
public:
  /// What the work returned or threw. At most once, on the thread that began it.
  task<Result> result();

private:
  friend class exchange;
  using timer =
    boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                      boost::asio::wait_traits<std::chrono::steady_clock>,
                                      asio_unit::executor>;
  struct state {
    explicit state(asio_unit::executor ex) : back(ex) { back.expires_at(timer::time_point::max()); }
    timer back;
    bool returned = false; ///< touched on the coroutine's thread only
    std::optional<std::conditional_t<std::is_void_v<Result>, std::monostate, Result>> value;
    std::exception_ptr failure;
  };
  explicit pool_work(std::shared_ptr<state> pending) : pending_(std::move(pending)) {}

  std::shared_ptr<state> pending_;
};

/// One request in progress.
class exchange : public request_parameters {
public:
  [[nodiscard]] virtual const http_request& request() const = 0;
  /// The route's template, for logs and metrics: never the path itself, which holds clients' names.
  [[nodiscard]] virtual std::string_view route() const = 0;
  /// A path parameter of the route's template, percent-decoded.
  [[nodiscard]] virtual const std::string& param(std::string_view name) const = 0;
  /// A query parameter, percent-decoded; the first if it is given twice.
  [[nodiscard]] virtual std::optional<std::string> query(std::string_view name) const = 0;
  [[nodiscard]] virtual std::optional<std::string> header(std::string_view name) const = 0;
  [[nodiscard]] virtual const caller& who() const = 0;
  /// False once the caller's token has been revoked or has expired: for answers that last.
  [[nodiscard]] virtual bool still_admitted() = 0;
  [[nodiscard]] virtual http_services& services() = 0;
  [[nodiscard]] virtual gateway& actors() = 0;

  /// Answers with JSON, once. Extra headers as name -> value.
  virtual task<bool> send(int status, std::string json_text,
                          std::map<std::string, std::string> headers = {}) = 0;
  virtual task<bool> send_text(int status, std::string content_type, std::string body) = 0;
  /// Starts a streamed answer: headers are flushed at once.
  virtual task<std::unique_ptr<body_stream>>
  stream(int status, std::string content_type, std::map<std::string, std::string> headers = {}) = 0;

  /// Why the caller is not let in; empty if it is. Only a WebSocket's handler is called for one that
  /// is not, to say so by a close code.
  [[nodiscard]] virtual const std::string& refused() const = 0;
  /// Answers the request for a WebSocket. Null if it was none, or a broken one, and then the request
  /// has been answered.
  virtual task<std::unique_ptr<websocket>> upgrade(std::size_t max_message_bytes) = 0;

  /// True once the client has closed its side or the connection broke: nobody waits any more.
  [[nodiscard]] virtual bool client_left() = 0;

  /// Runs `work` on the blocking pool and comes back to this thread with its result.
  template <class F>
  task<std::invoke_result_t<F>> blocking(F work);

  /// Likewise on the background pool, for work that may take long and must slow nobody.
  template <class F>
  task<std::invoke_result_t<F>> in_background(F work);

  /// Begins `work` on the blocking pool. It is run also if nobody asks for its result: it must own
  /// what it touches.
  template <class F>
  pool_work<std::invoke_result_t<F>> begin(F work) {
    auto& pool = services().blocking;
    const auto post = [&pool](auto job) { boost::asio::post(pool, std::move(job)); };
    return begin_with(post, std::move(work));
  }

  /// Asks a workspace through the directory. `Answer` is the alternative the command is answered with.
  template <class Answer>
  task<expected<Answer>> ask(std::string workspace, bool create, command what);

protected:
  /// `post` hands a job to the pool that runs it.
  template <class Post, class F>
  pool_work<std::invoke_result_t<F>> begin_with(Post post, F work);

  /// While this exists, the server and this thread's io_context do: held by work on other threads.
  [[nodiscard]] virtual std::shared_ptr<void> hold_server() = 0;
};

using route_handler = std::function<task<void>(exchange&)>;

template <class Result>
task<Result> pool_work<Result>::result() {
  const auto pending = pending_;
  while (!pending->returned)
    co_await pending->back.async_wait(as_result);
  if (pending->failure)
    std::rethrow_exception(pending->failure);
  if constexpr (!std::is_void_v<Result>)
    co_return std::move(*pending->value);
}

template <class Post, class F>
pool_work<std::invoke_result_t<F>> exchange::begin_with(Post post, F work) {
  using result = std::invoke_result_t<F>;
  const auto executor = actors().get_executor();
  auto pending = std::make_shared<typename pool_work<result>::state>(executor);
  auto begun = pool_work<result>{pending};
  // `server` is captured first, so that it is released last: `state` needs a living io_context.
  auto job = [server = hold_server(), executor, state = std::move(pending),
              run = std::move(work)]() mutable {
    try {
      if constexpr (std::is_void_v<result>) {
        run();
        state->value.emplace();
      } else {
        state->value.emplace(run());
      }
    } catch (...) {
      state->failure = std::current_exception();
    }
    boost::asio::post(executor, [done = std::move(state)] {
      done->returned = true;
      done->back.cancel();
    });
  };
  post(std::move(job));
  return begun;
}

template <class F>
task<std::invoke_result_t<F>> exchange::blocking(F work) {
  auto begun = begin(std::move(work));
  co_return co_await begun.result();
}

template <class F>
task<std::invoke_result_t<F>> exchange::in_background(F work) {
  auto& pool = services().background;
  const auto post = [&pool](auto job) { pool.post(std::move(job)); };
  auto begun = begin_with(post, std::move(work));
  co_return co_await begun.result();
}

template <class Answer>
task<expected<Answer>> exchange::ask(std::string workspace, bool create, command what) {
  command_ptr message = std::make_shared<const command>(std::move(what));
  const auto deadline = services().options.answer_deadline;
  auto reply = co_await actors().ask<reply_ptr>(deadline, services().directory, route_atom::value,
                                                std::move(workspace), create, std::move(message));
  if (!reply)
    co_return tl::make_unexpected(std::move(reply.error()));
  const auto& outcome = **reply;
  if (!outcome)
    co_return tl::make_unexpected(outcome.error());
  if (const auto* found = std::get_if<Answer>(&*outcome))
    co_return *found;
  co_return fail(errc::internal, "a workspace gave an answer of another kind");
}

} // namespace tidemark
