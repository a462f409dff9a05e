#pragma once

#include <tl/expected.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace tidemark {

/// What kind of failure an `error` is. The HTTP layer maps each to one status (http/problem.hpp),
/// so a code says what a caller may do about it, not where it happened.
enum class errc {
  invalid_argument, ///< the request is malformed; the same request fails again
  unauthorized,     ///< missing or wrong credentials
  forbidden,        ///< understood and refused
  not_found,        ///< no such workspace, turn, stream or route
  conflict,         ///< contradicts the present state (idempotency key reused, second decision)
  wrong_offset,     ///< an append expected another head of its stream
  fenced,           ///< the stream has a newer epoch than the caller knows
  trimmed,          ///< the asked offset was removed by retention
  ahead,            ///< the asked offset lies beyond the head
  too_large,        ///< a named limit was exceeded
  full,             ///< no space: nothing was written
  corrupt,          ///< stored data does not match its checksum or hash
  newer_format,     ///< stored data was written by a newer version
  locked,           ///< another process holds the resource
  io,               ///< the operating system or the database failed
  unavailable,      ///< cannot be done now (starting, stopping, agent missing)
  deadline,         ///< no answer in time
  cancelled,        ///< somebody asked for it to stop
  unsupported,      ///< valid, but this build or agent cannot do it
  internal          ///< a bug of ours
};

/// The code's name as it appears in logs and problem details, for example `wrong_offset`.
std::string_view to_string(errc code) noexcept;

/// A failure as a value: a code for programs, a message a person can act on, and its cause.
struct error {
  errc code = errc::internal;
  std::string message;
  bool retryable = false;
  std::shared_ptr<const error> cause = nullptr;

  /// The message, followed by those of its causes: `cannot open the log: directory is locked`.
  [[nodiscard]] std::string describe() const;
};

template <class T>
using expected = tl::expected<T, error>;

/// `return fail(errc::not_found, "no workspace \"x\"");`
[[nodiscard]] tl::unexpected<error> fail(errc code, std::string message);

/// The same with the failure it follows from.
[[nodiscard]] tl::unexpected<error> fail(errc code, std::string message, error cause);

} // namespace tidemark
