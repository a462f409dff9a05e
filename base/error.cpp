#include "base/error.hpp"

namespace tidemark {

std::string_view to_string(errc code) noexcept {
  switch (code) {
  case errc::invalid_argument: return "invalid_argument";
  case errc::unauthorized: return "unauthorized";
  case errc::forbidden: return "forbidden";
  case errc::not_found: return "not_found";
  case errc::conflict: return "conflict";
  case errc::wrong_offset: return "wrong_offset";
  case errc::fenced: return "fenced";
  case errc::trimmed: return "trimmed";
  case errc::ahead: return "ahead";
  case errc::too_large: return "too_large";
  case errc::full: return "full";
  case errc::corrupt: return "corrupt";
  case errc::newer_format: return "newer_format";
  case errc::locked: return "locked";
  case errc::io: return "io";
  case errc::unavailable: return "unavailable";
  case errc::deadline: return "deadline";
  case errc::cancelled: return "cancelled";
  case errc::unsupported: return "unsupported";
  case errc::internal: return "internal";
  }
  return "internal";
}

std::string error::describe() const {
  auto text = message;
  for (auto next = cause; next; next = next->cause) {
    text += ": ";
    text += next->message;
  }
  return text;
}

tl::unexpected<error> fail(errc code, std::string message) {
  return tl::make_unexpected(error{code, std::move(message)});
}

tl::unexpected<error> fail(errc code, std::string message, error cause) {
  const auto retryable = cause.retryable;
  return tl::make_unexpected(
    error{code, std::move(message), retryable, std::make_shared<const error>(std::move(cause))});
}

} // namespace tidemark
