#pragma once

namespace tidemark {

/// How every command ends (docs/operations.md, Exit codes). Scripts rely on the numbers.
enum exit_code : int {
  exit_ok = 0,
  exit_failed = 1,       ///< the task failed, was cancelled or interrupted; a check found a fault
  exit_usage = 2,        ///< wrong command line, environment value or tidemark.toml
  exit_unreachable = 3,  ///< no answer from the server
  exit_cannot_start = 4, ///< the server cannot start or go on: log, lock, port, missing token
  exit_refused = 5,      ///< the server answered that it will not (unauthorised, not found, …)
  exit_interrupted = 130 ///< stopped by the user; what ran on the server goes on
};

} // namespace tidemark
