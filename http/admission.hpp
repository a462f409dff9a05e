#pragma once

#include "http/gatekeeper.hpp"
#include "http/options.hpp"
#include "http/problem.hpp"
#include "http/router.hpp"

#include <boost/beast/http/message.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

/// The answer to a request that reaches no handler.
struct request_refusal {
  problem what;
  std::map<std::string, std::string> headers = {};
};

/// Looks at the caller's token, nothing if it gave none; says why the caller may not go on.
using authentication =
  std::function<std::optional<refused_entry>(std::optional<std::string_view> token)>;

/// Everything that must hold before a request's body is read: version, framing, origin, token,
/// route. Has no side effect but that of `authenticate`, which is asked once all before it holds.
/// `with_body`: the request announces one. Empty: the request may go on, and `route` has a handler.
std::optional<request_refusal> refuse_request(const boost::beast::http::request_header<>& head,
                                              const router::match& route, bool with_body,
                                              const http_options& options,
                                              const authentication& authenticate);

} // namespace tidemark
