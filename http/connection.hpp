#pragma once

#include "http/http_exchange.hpp"

#include <boost/beast/http/parser.hpp>

#include <memory>
#include <optional>
#include <string>

namespace tidemark {

struct problem;

/// One client connection: a coroutine that reads a request, routes it, answers, and reads the next.
class connection : public std::enable_shared_from_this<connection> {
public:
  connection(connection_context& context, wire::tcp_socket socket);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Serves until either side is done with it.
  task<void> run();

  /// Answers 503 and closes: the server has as many connections as it may.
  task<void> refuse();

  /// Ends operations that took too long.
  void expire(wire::clock::time_point now) { wire_->expire(now); }
  /// The server is stopping: an idle connection closes, and who waits is woken to see it.
  void drain();
  /// Ends everything at once.
  void close() { wire_->close(); }

private:
  using parser_type = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class step { ok, gone, refused };
  enum class part { head, body };

  /// Serves one request. False: no further one on this connection.
  task<bool> serve_one();
  task<step> receive(part what);
  /// The checks that need no body. Answers and returns false if the request may not go on.
  task<bool> admit(const router::match& route);
  /// Whether the client may use the server at all.
  [[nodiscard]] bool is_authorized(const router::match& route) const;
  task<bool> expects_continue();
  task<bool> handle(router::match route);

  step refuse_parse(const boost::system::error_code& failed, part what);
  /// Answers a request that reaches no handler.
  task<bool> answer(problem what, std::map<std::string, std::string> headers = {});
  [[nodiscard]] std::string_view header(boost::beast::http::field name) const;
  [[nodiscard]] std::string_view header(std::string_view name) const;
  void record(std::string_view route, int status) const;

  connection_context& context_;
  std::shared_ptr<wire> wire_;
  std::shared_ptr<wake_event> wake_;
  std::optional<parser_type> parser_;
  std::unique_ptr<problem> refusal_;                ///< why receive() refused
  std::optional<wire::clock::time_point> deadline_; ///< of the request being received
  wire::clock::time_point began_{};
  bool idle_ = false; ///< waits for the first byte of a request
};

} // namespace tidemark
