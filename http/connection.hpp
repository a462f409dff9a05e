#pragma once

#include "http/http_exchange.hpp"
#include "http/request_reader.hpp"

#include <memory>
#include <optional>
#include <string>

namespace tidemark {

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
  enum class step { ok, gone, refused };
  using part = request_reader::part;

  /// Serves one request. False: no further one on this connection.
  task<bool> serve_one();
  task<step> receive(part what);
  /// The checks that need no body. Answers and returns false if the request may not go on.
  task<bool> admit(const router::match& route);
  /// Finds out who calls, into `who_`; the reason if the caller may not.
  std::optional<refused_entry> identify(const router::match& route,
                                        std::optional<std::string_view> token);
  task<bool> expects_continue();
  task<bool> handle(router::match route);

  step refused(problem why);
  /// Answers a request that reaches no handler.
  task<bool> answer(problem what, std::map<std::string, std::string> headers = {});
  void record(std::string_view route, int status) const;

  connection_context& context_;
  std::string address_; ///< of the client, as failed attempts are counted by
  std::shared_ptr<wire> wire_;
  caller who_;          ///< of the request being served
  std::string refused_; ///< why it is not let in; a WebSocket's handler tells its client
  std::shared_ptr<wake_event> wake_;
  std::optional<request_reader> reader_;
  std::unique_ptr<problem> refusal_;                ///< why receive() refused
  std::optional<wire::clock::time_point> deadline_; ///< of the request being received
  wire::clock::time_point began_{};
  bool idle_ = false; ///< waits for the first byte of a request
};

} // namespace tidemark
