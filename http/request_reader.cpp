#include "http/request_reader.hpp"

#include <boost/beast/http/error.hpp>

#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

namespace bhttp = boost::beast::http;

// The end of a chunked body. Shown less of it, Beast 1.81 fails an assertion of its own (boostorg/beast
// pull request 2861), and no chunked body has less than this still to come.
constexpr std::size_t last_chunk_bytes = 5;

problem over_limit(int status, std::string detail, const char* limit) {
  auto why = problem{};
  why.status = status;
  why.code = "too_large";
  why.detail = std::move(detail);
  why.facts["limit"] = limit;
  return why;
}

} // namespace

request_reader::request_reader(const http_options& options) : options_(options) {
  parser_.header_limit(static_cast<std::uint32_t>(options.max_header_bytes));
  parser_.body_limit(options.max_body_bytes);
}

request_reader::step request_reader::advance(part what, boost::beast::flat_buffer& input,
                                             problem& why) {
  // A body that came along is left alone until its head was judged.
  parser_.eager(what == part::body);
  const auto least = what == part::body && parser_.chunked() ? last_chunk_bytes : std::size_t{1};
  while (what == part::head ? !has_head() : !is_complete()) {
    if (input.size() < least)
      return step::need_more;
    boost::system::error_code failed;
    const auto used = parser_.put(boost::asio::const_buffer{input.data()}, failed);
    input.consume(used);
    // Beast does not count the request line of a head that comes in one piece.
    head_bytes_ += what == part::head ? used : 0;
    if (head_bytes_ > options_.max_header_bytes)
      failed = bhttp::error::header_limit;
    if (failed == bhttp::error::need_more)
      return step::need_more;
    if (failed) {
      why = refusal(failed, what);
      return step::refused;
    }
  }
  return step::done;
}

problem request_reader::too_large(part what) const {
  if (what == part::head)
    return over_limit(
      431,
      fmt::format("the request's headers are larger than {} bytes (http.max_header)",
                  options_.max_header_bytes),
      "header");
  return over_limit(413,
                    fmt::format("the request's body is larger than {} bytes (http.max_body)",
                                options_.max_body_bytes),
                    "body");
}

problem request_reader::refusal(const boost::system::error_code& failed, part what) const {
  if (failed == bhttp::error::header_limit)
    return too_large(part::head);
  if (failed == bhttp::error::body_limit || failed == bhttp::error::buffer_overflow)
    return too_large(part::body);
  auto why = problem{};
  why.status = 400;
  why.code = "invalid_argument";
  why.detail = fmt::format("the {} is not HTTP/1.1: {}", what == part::head ? "request" : "body",
                           failed.message());
  return why;
}

bool request_reader::announces_body() const {
  return parser_.chunked() || parser_.content_length().value_or(0) > 0;
}

std::string_view request_reader::target() const {
  const auto text = parser_.get().target();
  return {text.data(), text.size()};
}

std::string_view request_reader::method() const {
  const auto text = parser_.get().method_string();
  return {text.data(), text.size()};
}

} // namespace tidemark
