#pragma once

#include "http/options.hpp"
#include "http/problem.hpp"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <cstddef>
#include <string_view>

namespace tidemark {

/// Reads one request out of a connection's bytes, within the limits of `http.*`. No I/O: what it
/// makes of the bytes does not depend on how they were cut. Used once a request.
class request_reader {
public:
  enum class part { head, body };
  enum class step { done, need_more, refused };

  explicit request_reader(const http_options& options);

  /// Consumes bytes of `input` up to the end of `what`, or all that there are; those of a following
  /// request stay. On `refused`, `why` says what is wrong, with the fact `limit` if it is a limit.
  step advance(part what, boost::beast::flat_buffer& input, problem& why);
  /// The refusal of a request that does not fit the connection's input.
  [[nodiscard]] problem too_large(part what) const;

  [[nodiscard]] const boost::beast::http::request_header<>& head() const { return parser_.get(); }
  [[nodiscard]] bool has_head() const { return parser_.is_header_done(); }
  [[nodiscard]] bool is_complete() const { return parser_.is_done(); }
  /// The head announces a body that is not empty.
  [[nodiscard]] bool announces_body() const;
  [[nodiscard]] std::string_view target() const;
  [[nodiscard]] std::string_view method() const;

  /// The whole request, after `done` of the body.
  boost::beast::http::request<boost::beast::http::string_body> release() {
    return parser_.release();
  }

private:
  [[nodiscard]] problem refusal(const boost::system::error_code& failed, part what) const;

  const http_options& options_;
  boost::beast::http::request_parser<boost::beast::http::string_body> parser_;
  std::size_t head_bytes_ = 0;
};

} // namespace tidemark
