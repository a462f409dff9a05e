#pragma once

#include "process/child.hpp"

namespace tidemark {

/// A file descriptor that is closed by its owner.
class owned_fd {
public:
  owned_fd() = default;
  explicit owned_fd(int fd) : fd_(fd) {}
  owned_fd(owned_fd&& other) noexcept : fd_(other.release()) {}
  owned_fd& operator=(owned_fd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~owned_fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);

private:
  int fd_ = -1;
};

/// A guard and the agent under it, just started. All descriptors are close-on-exec.
struct spawned {
  int guard_pid = 0;
  int agent_pid = 0;
  owned_fd guard;   ///< pidfd of the guard
  owned_fd control; ///< socket to the guard (process/guard_main.cpp): orders and its lifeline
  owned_fd standard_input; ///< write end; in a terminal the same end as standard_output
  owned_fd standard_output;
  owned_fd standard_error; ///< none in a terminal
};

/// Starts the guard and waits until the agent has been executed (some milliseconds).
/// Errors as child::spawn; nothing is left behind then.
expected<spawned> spawn_guarded(const child_options& options);

/// Waits for the guard's end, `limit_ms` at most, then kills it. Leaves no zombie.
void reap_guard(int guard_pid, int guard_pidfd, int limit_ms);

} // namespace tidemark
