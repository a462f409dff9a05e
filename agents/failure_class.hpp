#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

/// What is known about a failure of Claude Code, or about a result that may be one in disguise.
struct failure_signs {
  std::string_view text;      ///< error text, result or stderr
  std::string_view api_error; ///< `error` of the assistant message: `rate_limit`, `server_error` …
  std::int64_t http_status = 0; ///< of the model API; 0 if unknown
};

struct failure_class {
  std::string code; ///< `SESSION_LOST`, `AUTHENTICATION_FAILED`, `RATE_LIMITED` …
  bool retryable = false;
  std::string advice = {}; ///< what a person can do, for the end of the message; may be empty
};

/// The class of what is known to be a failure; empty if it has no class of its own.
std::optional<failure_class> classify_failure(const failure_signs& signs);

/// The class of a result that claims success although its whole text is the CLI's own error line:
/// a usage limit or a missing login. Empty for an answer that merely talks about such things.
std::optional<failure_class> failure_in_disguise(std::string_view text);

/// `8pm (UTC)` of "You've hit your session limit · resets 8pm (UTC)", or the seconds since 1970
/// after a `|`; empty if the text names none.
std::string reset_hint(std::string_view text);

} // namespace tidemark
