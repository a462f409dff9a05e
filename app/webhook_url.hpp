#pragma once

#include "base/error.hpp"

#include <string>

namespace tidemark {

/// Whether events can be sent to `url`, judged by the library that will send them. Loads it
/// (app/curl_library.hpp): may block. Says nothing about where the name leads; that is judged when
/// the connection is opened.
///
/// Errors: `invalid_argument` naming the part that is wrong, `unavailable` without libcurl.
expected<void> check_webhook_url(const std::string& url);

} // namespace tidemark
