#include "http/problem.hpp"

#include "base/logging.hpp"
#include "base/uuid.hpp"

#include <boost/beast/http/status.hpp>

namespace tidemark {

namespace {

std::string_view v1_code(errc code) {
  switch (code) {
  case errc::unauthorized: return "UNAUTHORIZED";
  case errc::forbidden: return "FORBIDDEN";
  case errc::invalid_argument: return "INVALID_REQUEST";
  case errc::not_found: return "WORKSPACE_NOT_FOUND";
  case errc::conflict:
  case errc::wrong_offset:
  case errc::fenced: return "CONFLICT";
  case errc::too_large: return "LIMIT_EXCEEDED";
  case errc::full: return "STORAGE_FULL";
  case errc::cancelled: return "TASK_CANCELLED";
  case errc::unsupported: return "UNSUPPORTED";
  case errc::unavailable:
  case errc::locked:
  case errc::deadline: return "RUNTIME_UNAVAILABLE";
  default: return "INTERNAL_ERROR";
  }
}

bool worth_retrying(const error& why) {
  return why.retryable || why.code == errc::unavailable || why.code == errc::deadline
         || why.code == errc::full || why.code == errc::locked;
}

} // namespace

int status_of(errc code) noexcept {
  switch (code) {
  case errc::invalid_argument: return 400;
  case errc::unauthorized: return 401;
  case errc::forbidden: return 403;
  case errc::not_found: return 404;
  case errc::conflict:
  case errc::wrong_offset:
  case errc::fenced:
  case errc::cancelled: return 409;
  case errc::trimmed: return 410;
  case errc::too_large: return 413;
  case errc::ahead: return 416;
  case errc::unsupported: return 501;
  case errc::unavailable:
  case errc::locked: return 503;
  case errc::deadline: return 504;
  case errc::full: return 507;
  case errc::corrupt:
  case errc::newer_format:
  case errc::io:
  case errc::internal: return 500;
  }
  return 500;
}

std::string_view reason_phrase(int status) noexcept {
  const auto known = boost::beast::http::obsolete_reason(
    boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  return {known.data(), known.size()};
}

problem problem::of(const error& why) {
  auto result = problem{};
  result.status = status_of(why.code);
  result.code = to_string(why.code);
  result.detail = why.describe();
  if (worth_retrying(why))
    result.facts["retryable"] = true;
  return result;
}

std::string problem_json(const problem& what, std::string_view err_id) {
  auto body = what.facts;
  body["type"] = "urn:tidemark:problem:" + what.code;
  body["title"] = std::string{reason_phrase(what.status)};
  body["status"] = what.status;
  body["detail"] = what.detail;
  body["code"] = what.code;
  if (!err_id.empty())
    body["err_id"] = std::string{err_id};
  return dump_json(body);
}

task<bool> send_problem(exchange& with, problem what, std::map<std::string, std::string> headers) {
  auto err_id = std::string{};
  if (what.status >= 500)
    err_id = log_failure(with.route(), what.code, what.detail, what.status);
  headers.emplace("Content-Type", "application/problem+json");
  auto body = problem_json(what, err_id);
  co_return co_await with.send(what.status, std::move(body), std::move(headers));
}

task<bool> send_error(exchange& with, error why) {
  auto what = problem::of(why);
  auto headers = std::map<std::string, std::string>{};
  co_return co_await send_problem(with, std::move(what), std::move(headers));
}

std::string log_failure(std::string_view where, std::string_view code, std::string_view message,
                        int status) {
  auto err_id = new_uuid(now_utc());
  const auto level = status >= 500 ? logging::level::warning : logging::level::info;
  logging::write(
    level, "http",
    fmt::format("{} answered {} {} err_id={}: {}", where, status, code, err_id, message));
  return err_id;
}

error_info describe_failure(const error& why, std::string_view where) {
  auto info = error_info{};
  info.code = v1_code(why.code);
  info.message = why.describe();
  info.retryable = worth_retrying(why);
  info.err_id = log_failure(where, info.code, info.message, status_of(why.code));
  return info;
}

json to_json(const error_info& info) {
  auto object = json::object();
  object["err_id"] = info.err_id;
  object["code"] = info.code;
  object["message"] = info.message;
  object["retryable"] = info.retryable;
  object["details"] = info.details;
  return object;
}

std::string error_body(const error_info& info) {
  auto body = json::object();
  body["error"] = to_json(info);
  return dump_json(body);
}

task<bool> send_v1_error(exchange& with, error why) {
  const auto info = describe_failure(why, with.route());
  auto body = error_body(info);
  co_return co_await with.send(status_of(why.code), std::move(body));
}

} // namespace tidemark
