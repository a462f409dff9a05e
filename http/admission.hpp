#pragma once

#include "http/options.hpp"
#include "http/problem.hpp"
#include "http/router.hpp"

#include <boost/beast/http/message.hpp>

#include <map>
#include <optional>
#include <string>

namespace tidemark {

/// The answer to a request that reaches no handler.
struct request_refusal {
  problem what;
  std::map<std::string, std::string> headers = {};
};

/// Everything that must hold before a request's body is read: version, framing, origin, token,
/// route. Pure, so that no refused request has a side effect. `with_body`: the request announces one.
/// Empty: the request may go on, and `route` has a handler.
std::optional<request_refusal> refuse_request(const boost::beast::http::request_header<>& head,
                                              const router::match& route, bool with_body,
                                              const http_options& options);

} // namespace tidemark
