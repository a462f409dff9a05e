#include "http/http_exchange.hpp"

#include "http/chunked_body.hpp"
#include "http/problem.hpp"
#include "http/uri.hpp"
#include "http/websocket.hpp"

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::size_t copied_body_limit = 16 << 10;

void append_value(std::string& out, std::string_view text) {
  for (const auto c : text)
    if (c != '\r' && c != '\n' && c != '\0')
      out += c;
}

bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

} // namespace

void append_head(std::string& out, const response_head& head,
                 const std::map<std::string, std::string>& headers) {
  fmt::format_to(std::back_inserter(out), "HTTP/1.{} {} {}\r\nServer: tidemark\r\n",
                 head.version == 10 ? 0 : 1, head.status, reason_phrase(head.status));
  if (!head.content_type.empty() && !headers.contains("Content-Type")) {
    out += "Content-Type: ";
    append_value(out, head.content_type);
    out += "\r\n";
  }
  for (const auto& [name, value] : headers) {
    out += name;
    out += ": ";
    append_value(out, value);
    out += "\r\n";
  }
  if (head.length && has_body(head.status))
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", *head.length);
  else if (!head.length && head.version != 10)
    out += "Transfer-Encoding: chunked\r\n";
  if (!head.keep_alive)
    out += "Connection: close\r\n";
  else if (head.version == 10)
    out += "Connection: keep-alive\r\n";
  out += "\r\n";
}

http_exchange::http_exchange(connection_context& context, std::shared_ptr<wire> line,
                             std::shared_ptr<wake_event> wake, http_request request,
                             router::match route, caller who, std::string refused)
  : context_(context),
    wire_(std::move(line)),
    wake_(std::move(wake)),
    request_(std::move(request)),
    route_(std::move(route)),
    who_(std::move(who)),
    refused_(std::move(refused)) {
  const auto target = std::string_view{request_.target().data(), request_.target().size()};
  query_ = parse_query(split_target(target).query);
}

const std::string& http_exchange::param(std::string_view name) const {
  static const std::string none;
  const auto found = route_.params.find(name);
  return found == route_.params.end() ? none : found->second;
}

std::optional<std::string> http_exchange::query(std::string_view name) const {
  for (const auto& [key, value] : query_)
    if (key == name)
      return value;
  return std::nullopt;
}

std::optional<std::string> http_exchange::header(std::string_view name) const {
  const auto found = request_.find(boost::beast::string_view{name.data(), name.size()});
  if (found == request_.end())
    return std::nullopt;
  return std::string{found->value().data(), found->value().size()};
}

task<bool> http_exchange::send(int status, std::string json_text,
                               std::map<std::string, std::string> headers) {
  co_return co_await answer(status, "application/json", std::move(json_text), headers);
}

task<bool> http_exchange::send_text(int status, std::string content_type, std::string body) {
  const auto headers = std::map<std::string, std::string>{};
  co_return co_await answer(status, content_type, std::move(body), headers);
}

task<bool> http_exchange::answer(int status, std::string_view content_type, std::string body,
                                 const std::map<std::string, std::string>& headers) {
  if (status_ != 0)
    co_return false;
  status_ = status;
  auto head = response_head{};
  head.status = status;
  head.version = static_cast<int>(request_.version());
  head.keep_alive = request_.keep_alive() && !context_.draining.load(std::memory_order_relaxed);
  head.content_type = content_type;
  head.length = body.size();
  auto out = std::string{};
  out.reserve(256 + (body.size() <= copied_body_limit ? body.size() : 0));
  append_head(out, head, headers);
  const auto with_body = has_body(status) && request_.method() != boost::beast::http::verb::head;
  const auto stall = context_.services.options.write_timeout;
  auto result = wire::outcome::done;
  if (!with_body || body.size() <= copied_body_limit) {
    if (with_body)
      out += body;
    result = co_await wire_->write(std::string_view{out}, stall);
  } else {
    auto pieces = std::array<boost::asio::const_buffer, 3>{};
    pieces[0] = boost::asio::buffer(out);
    pieces[1] = boost::asio::buffer(body);
    result = co_await wire_->write(pieces, stall);
  }
  reusable_ = head.keep_alive && result == wire::outcome::done;
  co_return result == wire::outcome::done;
}

task<std::unique_ptr<body_stream>>
http_exchange::stream(int status, std::string content_type,
                      std::map<std::string, std::string> headers) {
  status_ = status;
  streamed_ = true;
  auto head = response_head{};
  head.status = status;
  head.version = static_cast<int>(request_.version());
  head.keep_alive = false; // the connection belongs to the stream
  head.content_type = content_type;
  auto out = std::string{};
  append_head(out, head, headers);
  const auto stall = context_.services.options.write_timeout;
  const auto result = co_await wire_->write(std::string_view{out}, stall);
  auto how = chunked_body::settings{};
  how.stall = stall;
  how.chunked = head.version != 10;
  how.silent = request_.method() == boost::beast::http::verb::head;
  auto body = std::make_unique<chunked_body>(wire_, wake_, how);
  body->start(result == wire::outcome::done);
  co_return body;
}

task<std::unique_ptr<websocket>> http_exchange::upgrade(std::size_t max_message_bytes) {
  // What a client sends before it knows the answer would be lost to the WebSocket.
  if (!websocket::is_wanted(request_) || wire_->input().size() > 0) {
    auto headers = std::map<std::string, std::string>{};
    headers["Upgrade"] = "websocket";
    auto what = problem{};
    what.status = 426;
    what.code = "invalid_argument";
    what.detail = "this path speaks WebSocket (RFC 6455)";
    co_await send_problem(*this, std::move(what), std::move(headers));
    co_return nullptr;
  }
  auto limits = websocket::limits{};
  limits.message_bytes = max_message_bytes;
  limits.stall = context_.services.options.write_timeout;
  streamed_ = true;
  auto opened = co_await websocket::accept(wire_, wake_, request_, limits);
  status_ = opened ? 101 : 400;
  co_return opened;
}

std::shared_ptr<void> http_exchange::hold_server() {
  auto held = context_.held;
  held->fetch_add(1);
  const auto release = [held](void*) {
    if (held->fetch_sub(1) == 1)
      held->notify_all();
  };
  return {static_cast<void*>(held.get()), release};
}

} // namespace tidemark
