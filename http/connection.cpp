#include "http/connection.hpp"

#include "base/logging.hpp"
#include "http/auth.hpp"
#include "http/problem.hpp"
#include "http/uri.hpp"

#include <boost/beast/http/error.hpp>

#include <algorithm>

namespace tidemark {

namespace {

namespace bhttp = boost::beast::http;

constexpr std::size_t input_slack = 64 << 10; // read ahead of the parser
constexpr auto linger_limit = std::chrono::seconds{2};

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

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

problem refusal(int status, std::string code, std::string detail, std::string limit = {}) {
  auto what = problem{};
  what.status = status;
  what.code = std::move(code);
  what.detail = std::move(detail);
  if (!limit.empty())
    what.facts["limit"] = std::move(limit);
  return what;
}

bool same_word(std::string_view a, std::string_view b) {
  return boost::beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

bool is_json(std::string_view content_type) {
  auto kind = content_type.substr(0, content_type.find(';'));
  while (kind.ends_with(' ') || kind.ends_with('\t'))
    kind.remove_suffix(1);
  return same_word(kind, "application/json");
}

/// Whether a proxy in front of us could see another end of this request than we do.
bool is_framed_doubtfully(const bhttp::request_header<>& request) {
  const auto codings = request.count(bhttp::field::transfer_encoding);
  if (codings == 0)
    return false;
  return codings > 1 || request.version() == 10 || request.count(bhttp::field::content_length) > 0
         || !same_word(view(request[bhttp::field::transfer_encoding]), "chunked");
}

/// A header that decides something and is said twice: each reader would believe another one.
std::string_view ambiguous(const bhttp::request_header<>& request) {
  for (const std::string_view name : {"Host", "Origin", "Sec-Fetch-Site", "Authorization",
                                      "Content-Type", "Idempotency-Key", "Last-Event-ID"})
    if (request.count(boost::beast::string_view{name.data(), name.size()}) > 1)
      return name;
  return {};
}

std::string joined(std::vector<std::string> methods) {
  if (std::find(methods.begin(), methods.end(), "GET") != methods.end())
    methods.emplace_back("HEAD");
  std::sort(methods.begin(), methods.end());
  methods.erase(std::unique(methods.begin(), methods.end()), methods.end());
  return fmt::format("{}", fmt::join(methods, ", "));
}

} // namespace

connection::connection(connection_context& context, wire::tcp_socket socket)
  : context_(context),
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
  co_await answer(refusal(503, "unavailable",
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
  const auto& options = context_.services.options;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(options.max_header_bytes));
  parser_->body_limit(options.max_body_bytes);
  parser_->eager(true);
  deadline_.reset();
  const auto head = co_await receive(part::head);
  if (head == step::gone)
    co_return false;
  if (head == step::ok) {
    const auto target = split_target(view(parser_->get().target()));
    auto route = context_.routes.find(view(parser_->get().method_string()), target.path);
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
    if (what == part::head ? parser_->is_header_done() : parser_->is_done())
      co_return step::ok;
    if (input.size() > 0) {
      if (!deadline_) {
        began_ = wire::clock::now();
        deadline_ = began_ + options.request_timeout;
      }
      boost::system::error_code failed;
      const auto used = parser_->put(boost::asio::const_buffer{input.data()}, failed);
      input.consume(used);
      if (!failed)
        continue;
      if (failed != bhttp::error::need_more)
        co_return refuse_parse(failed, what);
    }
    idle_ = !deadline_.has_value();
    if (idle_ && context_.draining)
      co_return step::gone;
    const auto until = deadline_.value_or(wire::clock::now() + options.idle_timeout);
    const auto result = co_await wire_->read_some(until);
    const auto was_idle = std::exchange(idle_, false);
    if (result == wire::outcome::full)
      co_return refuse_parse(
        what == part::head ? bhttp::error::header_limit : bhttp::error::body_limit, what);
    if (result == wire::outcome::timed_out) {
      context_.services.metrics.http_limit_hit(was_idle ? "idle" : "request_timeout");
      if (was_idle)
        co_return step::gone;
      refusal_ = std::make_unique<problem>(
        refusal(408, "deadline", "the request was not complete in time (http.request_timeout)",
                "request_timeout"));
      co_return step::refused;
    }
    if (result == wire::outcome::closed)
      co_return step::gone;
  }
}

connection::step connection::refuse_parse(const boost::system::error_code& failed, part what) {
  auto& metrics = context_.services.metrics;
  const auto& options = context_.services.options;
  auto why = problem{};
  if (failed == bhttp::error::header_limit) {
    metrics.http_limit_hit("header");
    why = refusal(431, "too_large",
                  fmt::format("the request's headers are larger than {} bytes (http.max_header)",
                              options.max_header_bytes),
                  "header");
  } else if (failed == bhttp::error::body_limit || failed == bhttp::error::buffer_overflow) {
    metrics.http_limit_hit("body");
    why = refusal(413, "too_large",
                  fmt::format("the request's body is larger than {} bytes (http.max_body)",
                              options.max_body_bytes),
                  "body");
  } else {
    why = refusal(400, "invalid_argument",
                  fmt::format("the {} is not HTTP/1.1: {}", what == part::head ? "request" : "body",
                              failed.message()));
  }
  refusal_ = std::make_unique<problem>(std::move(why));
  return step::refused;
}

std::string_view connection::header(bhttp::field name) const {
  return view(parser_->get()[name]);
}

std::string_view connection::header(std::string_view name) const {
  return view(parser_->get()[boost::beast::string_view{name.data(), name.size()}]);
}

task<bool> connection::admit(const router::match& route) {
  const auto& options = context_.services.options;
  const auto version = parser_->get().version();
  const auto origin = header(bhttp::field::origin);
  auto why = std::optional<problem>{};
  auto headers = std::map<std::string, std::string>{};
  const auto with_body = parser_->chunked() || parser_->content_length().value_or(0) > 0;
  if (version != 11 && version != 10) {
    why = refusal(505, "unsupported", "only HTTP/1.0 and HTTP/1.1 are served");
  } else if (is_framed_doubtfully(parser_->get())) {
    why = refusal(400, "invalid_argument",
                  "the only Transfer-Encoding is chunked, and then without Content-Length");
  } else if (const auto twice = ambiguous(parser_->get()); !twice.empty()) {
    why = refusal(400, "invalid_argument", fmt::format("the header {} is given twice", twice));
  } else if (auto foreign = refuse_site(header("Sec-Fetch-Site")); !foreign.empty()) {
    why = refusal(403, "forbidden", std::move(foreign));
  } else if (auto stranger = refuse_origin(header(bhttp::field::host), origin,
                                           !options.token.empty() || options.insecure_no_auth);
             !stranger.empty()) {
    why = refusal(403, "forbidden", std::move(stranger));
  } else if (!origin.empty() && with_body && !is_json(header(bhttp::field::content_type))) {
    why =
      refusal(403, "forbidden", "a page must send application/json, which other origins cannot");
  } else if (!options.token.empty() && route.path_template != "/health"
             && !bears_token(header(bhttp::field::authorization), options.token)) {
    why = refusal(401, "unauthorized",
                  header(bhttp::field::authorization).empty()
                    ? "a bearer token is needed: Authorization: Bearer <INTERNAL_API_TOKEN>"
                    : "the Authorization header does not hold this server's bearer token");
    headers.emplace("WWW-Authenticate", "Bearer realm=\"tidemark\"");
  } else if (!route.handler && !route.allowed.empty()) {
    why = refusal(405, "method_not_allowed", "this path does not take that method");
    headers.emplace("Allow", joined(route.allowed));
  } else if (!route.handler) {
    why = refusal(404, "not_found", "there is nothing at this path");
  }
  if (!why)
    co_return co_await expects_continue();
  const auto status = why->status;
  co_await answer(std::move(*why), std::move(headers));
  record(route.path_template, status);
  co_return false;
}

task<bool> connection::expects_continue() {
  const auto expected = header(bhttp::field::expect);
  if (expected.empty() || parser_->get().version() == 10 || parser_->is_done())
    co_return true;
  if (!boost::beast::iequals(boost::beast::string_view{expected.data(), expected.size()},
                             "100-continue")) {
    refusal_ = std::make_unique<problem>(
      refusal(417, "unsupported", "only Expect: 100-continue is understood"));
    co_return false;
  }
  constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  const auto result = co_await wire_->write(go_on, context_.services.options.write_timeout);
  co_return result == wire::outcome::done;
}

task<bool> connection::handle(router::match route) {
  const auto* handler = route.handler;
  const auto label = route.path_template;
  auto with = http_exchange{context_, wire_, wake_, parser_->release(), std::move(route)};
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
      auto what = refusal(500, "internal", "the server failed to handle this request");
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
  info.retryable = what.status == 503 || what.status == 408;
  what.facts["error"] = to_json(info);
  auto head = response_head{};
  head.status = what.status;
  head.keep_alive = false;
  head.content_type = "application/problem+json";
  const auto body = problem_json(what, info.err_id);
  head.length = body.size();
  auto out = std::string{};
  append_head(out, head, headers);
  if (!parser_ || parser_->get().method() != bhttp::verb::head)
    out += body;
  const auto result =
    co_await wire_->write(std::string_view{out}, context_.services.options.write_timeout);
  co_return result == wire::outcome::done;
}

void connection::record(std::string_view route, int status) const {
  if (parser_->is_header_done())
    context_.services.metrics.http_request(method_label(parser_->get()), route, status,
                                           wire::clock::now() - began_);
}

} // namespace tidemark
