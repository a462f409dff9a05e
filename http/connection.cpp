#include "http/connection.hpp"

#include "base/logging.hpp"
#include "http/admission.hpp"
#include "http/auth.hpp"
#include "http/uri.hpp"
#include "http/websocket.hpp"

#include <utility>

namespace tidemark {

namespace {

namespace bhttp = boost::beast::http;

constexpr std::size_t input_slack = 64 << 10; // read ahead of the parser
constexpr auto linger_limit = std::chrono::seconds{2};

/// The method as a metrics label: a closed set.
std::string_view method_label(const bhttp::request_header<>& request) {
  switch (request.method()) {
  case bhttp::verb::get: return "GET";
  case bhttp::verb::head: return "HEAD";
  case bhttp::verb::post: return "POST";
  case bhttp::verb::put: return "PUT";
  case bhttp::verb::patch: return "PATCH";
  case bhttp::verb::delete_: return "DELETE";
  default: return "other";
  }
}

problem problem_of(int status, std::string code, std::string detail, std::string limit = {}) {
  auto what = problem{};
  what.status = status;
  what.code = std::move(code);
  what.detail = std::move(detail);
  if (!limit.empty())
    what.facts["limit"] = std::move(limit);
  return what;
}

std::string address_of(const wire::tcp_socket& socket) {
  boost::system::error_code gone;
  const auto peer = socket.remote_endpoint(gone);
  return gone ? std::string{} : client_network(peer.address().to_string());
}

} // namespace

connection::connection(connection_context& context, wire::tcp_socket socket)
  : context_(context),
    address_(address_of(socket)),
    wire_(std::make_shared<wire>(std::move(socket),
                                 context.services.options.max_header_bytes + input_slack)),
    wake_(std::make_shared<wake_event>(context.actors.get_executor())) {}

connection::~connection() {
  wake_->close();
}

task<void> connection::run() {
  const auto self = shared_from_this();
  auto going = true;
  while (going)
    going = co_await serve_one();
  wire_->close();
}

task<void> connection::refuse() {
  const auto self = shared_from_this();
  context_.services.metrics.http_limit_hit("connections");
  co_await answer(problem_of(503, "unavailable",
                             "the server has as many connections as it may (http.max_connections)",
                             "connections"));
  co_await wire_->linger(std::chrono::seconds{1});
  wire_->close();
}

void connection::drain() {
  wake_->notify();
  if (idle_)
    wire_->close();
}

task<bool> connection::serve_one() {
  reader_.emplace(context_.services.options);
  deadline_.reset();
  const auto head = co_await receive(part::head);
  if (head == step::gone)
    co_return false;
  if (head == step::ok) {
    const auto target = split_target(reader_->target());
    auto route = context_.routes.find(reader_->method(), target.path);
    const auto admitted = co_await admit(route);
    if (admitted) {
      const auto body = co_await receive(part::body);
      if (body == step::gone)
        co_return false;
      if (body == step::ok)
        co_return co_await handle(std::move(route));
    }
  }
  if (refusal_) {
    auto what = std::move(*refusal_);
    refusal_.reset();
    auto headers = std::map<std::string, std::string>{};
    const auto status = what.status;
    co_await answer(std::move(what), std::move(headers));
    record("unmatched", status);
  }
  co_await wire_->linger(linger_limit);
  co_return false;
}

task<connection::step> connection::receive(part what) {
  auto& input = wire_->input();
  const auto& options = context_.services.options;
  for (;;) {
    if (input.size() > 0 && !deadline_) {
      began_ = wire::clock::now();
      deadline_ = began_ + options.request_timeout;
    }
    auto why = problem{};
    const auto came = reader_->advance(what, input, why);
    if (came == request_reader::step::done)
      co_return step::ok;
    if (came == request_reader::step::refused)
      co_return refused(std::move(why));
    idle_ = !deadline_.has_value();
    if (idle_ && context_.draining)
      co_return step::gone;
    const auto until = deadline_.value_or(wire::clock::now() + options.idle_timeout);
    const auto result = co_await wire_->read_some(until);
    const auto was_idle = std::exchange(idle_, false);
    if (result == wire::outcome::full)
      co_return refused(reader_->too_large(what));
    if (result == wire::outcome::timed_out && !was_idle) {
      auto late =
        problem_of(408, "deadline", "the request was not complete in time (http.request_timeout)",
                   "request_timeout");
      co_return refused(std::move(late));
    }
    if (result == wire::outcome::timed_out)
      context_.services.metrics.http_limit_hit("idle");
    if (result != wire::outcome::done)
      co_return step::gone;
  }
}

connection::step connection::refused(problem why) {
  if (const auto limit = string_at(why.facts, "limit"))
    context_.services.metrics.http_limit_hit(*limit);
  refusal_ = std::make_unique<problem>(std::move(why));
  return step::refused;
}

task<bool> connection::admit(const router::match& route) {
  const auto let_in = [this, &route](std::optional<std::string_view> token) {
    return identify(route, token);
  };
  auto why = refuse_request(reader_->head(), route, reader_->announces_body(),
                            context_.services.options, let_in);
  if (!why)
    co_return co_await expects_continue();
  const auto status = why->what.status;
  co_await answer(std::move(why->what), std::move(why->headers));
  record(route.path_template, status);
  co_return false;
}

std::optional<refused_entry> connection::identify(const router::match& route,
                                                  std::optional<std::string_view> token) {
  const auto upgrades = route.websocket && websocket::is_wanted(reader_->head());
  const auto in_url = upgrades && !token ? token_of_query(reader_->target()) : std::nullopt;
  auto let_in = context_.gate.admit(in_url ? std::optional<std::string_view>{*in_url} : token,
                                    address_, route.needed);
  refused_.clear();
  if (let_in) {
    who_ = std::move(*let_in);
    return std::nullopt;
  }
  if (let_in.error().status == 429)
    context_.services.metrics.http_limit_hit("failed_attempts");
  if (!upgrades)
    return std::move(let_in.error());
  // What a WebSocket's client understands is a close code, which its handler sends.
  refused_ = std::move(let_in.error().detail);
  return std::nullopt;
}

task<bool> connection::expects_continue() {
  const auto expected = reader_->head()[bhttp::field::expect];
  if (expected.empty() || reader_->head().version() == 10 || reader_->is_complete())
    co_return true;
  if (!boost::beast::iequals(expected, "100-continue")) {
    refusal_ = std::make_unique<problem>(
      problem_of(417, "unsupported", "only Expect: 100-continue is understood"));
    co_return false;
  }
  constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  const auto result = co_await wire_->write(go_on, context_.services.options.write_timeout);
  co_return result == wire::outcome::done;
}

task<bool> connection::handle(router::match route) {
  const auto* handler = route.handler;
  const auto label = route.path_template;
  auto with =
    http_exchange{context_, wire_, wake_, reader_->release(), std::move(route), who_, refused_};
  auto failure = std::string{};
  try {
    co_await (*handler)(with);
  } catch (const std::exception& e) {
    failure = e.what();
  } catch (...) {
    failure = "an exception of unknown type";
  }
  if (failure.empty() && with.status() == 0)
    failure = "the handler gave no answer";
  if (!failure.empty()) {
    logging::error("http", "{} failed: {}", label, failure);
    if (with.status() == 0) {
      auto what = problem_of(500, "internal", "the server failed to handle this request");
      auto headers = std::map<std::string, std::string>{};
      co_await send_problem(with, std::move(what), std::move(headers));
    }
  }
  context_.services.metrics.http_request(method_label(with.request()), label, with.status(),
                                         wire::clock::now() - began_);
  if (!with.streamed() && !with.reusable())
    co_await wire_->linger(linger_limit);
  co_return with.reusable();
}

task<bool> connection::answer(problem what, std::map<std::string, std::string> headers) {
  // Whatever family the path belongs to, its clients find their own form of error here.
  auto info = error_info{};
  info.err_id = log_failure("http", what.code, what.detail, what.status);
  info.code = what.status == 401 ? "UNAUTHORIZED" : "INVALID_REQUEST";
  info.message = what.detail;
  info.retryable = what.status == 503 || what.status == 408 || what.status == 429;
  what.facts["error"] = to_json(info);
  auto head = response_head{};
  head.status = what.status;
  head.keep_alive = false;
  head.content_type = "application/problem+json";
  const auto body = problem_json(what, info.err_id);
  head.length = body.size();
  auto out = std::string{};
  append_head(out, head, headers);
  if (!reader_ || reader_->head().method() != bhttp::verb::head)
    out += body;
  const auto result =
    co_await wire_->write(std::string_view{out}, context_.services.options.write_timeout);
  co_return result == wire::outcome::done;
}

void connection::record(std::string_view route, int status) const {
  if (reader_->has_head())
    context_.services.metrics.http_request(method_label(reader_->head()), route, status,
                                           wire::clock::now() - began_);
}

} // namespace tidemark
