#pragma once

#include "http/exchange.hpp"
#include "http/router.hpp"
#include "http/wake_event.hpp"
#include "http/wire.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark {

/// What all connections of one I/O thread share.
struct connection_context {
  http_services& services;
  const router& routes;
  gateway& actors;
  gatekeeper& gate;
  const std::atomic<bool>& draining; ///< the server is stopping: no request after the present one
  std::shared_ptr<std::atomic<std::size_t>> held; ///< see exchange::hold_server
};

/// The head of one answer.
struct response_head {
  int status = 200;
  int version = 11; ///< of HTTP: 10 or 11
  bool keep_alive = true;
  std::string_view content_type;     ///< a header `Content-Type` wins
  std::optional<std::size_t> length; ///< empty: chunked, or up to the end of the connection in 1.0
};
/// Appends status line and headers up to the empty line. Line ends inside values are dropped, so a
/// value can never begin another header.
void append_head(std::string& out, const response_head& head,
                 const std::map<std::string, std::string>& headers = {});

/// One request on one connection.
class http_exchange final : public exchange {
public:
  http_exchange(connection_context& context, std::shared_ptr<wire> line,
                std::shared_ptr<wake_event> wake, http_request request, router::match route,
                caller who, std::string refused);

  [[nodiscard]] const http_request& request() const override { return request_; }
  [[nodiscard]] std::string_view route() const override { return route_.path_template; }
  [[nodiscard]] const std::string& param(std::string_view name) const override;
  [[nodiscard]] std::optional<std::string> query(std::string_view name) const override;
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const override;
  [[nodiscard]] const caller& who() const override { return who_; }
  [[nodiscard]] bool still_admitted() override { return context_.gate.admits(who_, route_.needed); }
  [[nodiscard]] http_services& services() override { return context_.services; }
  [[nodiscard]] gateway& actors() override { return context_.actors; }

  task<bool> send(int status, std::string json_text,
                  std::map<std::string, std::string> headers) override;
  task<bool> send_text(int status, std::string content_type, std::string body) override;
  task<std::unique_ptr<body_stream>> stream(int status, std::string content_type,
                                            std::map<std::string, std::string> headers) override;

  [[nodiscard]] const std::string& refused() const override { return refused_; }
  task<std::unique_ptr<websocket>> upgrade(std::size_t max_message_bytes) override;

  [[nodiscard]] bool client_left() override { return wire_->peer_left(); }

  /// Status of the answer; 0 if there is none yet.
  [[nodiscard]] int status() const { return status_; }
  /// True if the connection can take another request.
  [[nodiscard]] bool reusable() const { return reusable_; }
  [[nodiscard]] bool streamed() const { return streamed_; }

protected:
  [[nodiscard]] std::shared_ptr<void> hold_server() override;

private:
  task<bool> answer(int status, std::string_view content_type, std::string body,
                    const std::map<std::string, std::string>& headers);

  connection_context& context_;
  std::shared_ptr<wire> wire_;
  std::shared_ptr<wake_event> wake_;
  http_request request_;
  router::match route_;
  caller who_;
  std::vector<std::pair<std::string, std::string>> query_;
  std::string refused_;
  int status_ = 0;
  bool reusable_ = false;
  bool streamed_ = false;
};

} // namespace tidemark
