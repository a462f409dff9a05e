#pragma once

#include "http/exchange.hpp"

#include <string>
#include <string_view>

// How failures look on the wire: problem details for the native API (RFC 9457), ErrorInfo for the
// v1 family (contracts: workspace API v1, Endpoints).
namespace tidemark {

/// The one place where kinds of failure become HTTP statuses.
int status_of(errc code) noexcept;

/// The reason phrase of a status, for example `Not Found`.
std::string_view reason_phrase(int status) noexcept;

/// A failure as clients of the native API see it.
struct problem {
  int status = 500;
  std::string code;            ///< for programs: `not_found`
  std::string detail;          ///< for people
  json facts = json::object(); ///< further members, for example `head` and `epoch`

  static problem of(const error& why);
};

/// `{"type","title","status","detail","code",…facts,"err_id"?}`; `err_id` only if it is not empty.
std::string problem_json(const problem& what, std::string_view err_id = {});

/// Answers with `application/problem+json`. Server errors (5xx) get an `err_id`, which is logged.
task<bool> send_problem(exchange& with, problem what,
                        std::map<std::string, std::string> headers = {});
task<bool> send_error(exchange& with, error why);

/// The v1 family's description of a failure.
struct error_info {
  std::string err_id;
  std::string code; ///< `RUNTIME_UNAVAILABLE`, `WORKSPACE_NOT_FOUND`, `TASK_CANCELLED`, …
  std::string message;
  bool retryable = false;
  json details = nullptr;
};

/// A new `err_id`, written to the log together with the failure.
std::string log_failure(std::string_view where, std::string_view code, std::string_view message,
                        int status);

/// Describes `why` with the codes of the contract and logs it. `where` is the route.
error_info describe_failure(const error& why, std::string_view where);

/// The ErrorInfo object.
json to_json(const error_info& info);

/// `{"error":ErrorInfo}`.
std::string error_body(const error_info& info);

/// Answers `{"error":ErrorInfo}` with the status that fits.
task<bool> send_v1_error(exchange& with, error why);

} // namespace tidemark
