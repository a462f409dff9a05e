#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>

namespace tidemark {

/// Takes SIGTERM, SIGINT, SIGHUP, SIGQUIT and SIGCHLD out of the way of all threads, so that
/// `wait_for_stop` alone hears of them; ignores SIGPIPE. A SIGHUP that was ignored (nohup) stays so.
/// Call before the first thread starts.
void take_signals();

/// Why the server stops.
struct stop_reason {
  int signal = 0; ///< 0: `fail_server` was called
  std::string fault;
};

/// Waits for a signal that ends the server, or for `fail_server`. As PID 1 it reaps orphans
/// meanwhile.
stop_reason wait_for_stop();

/// Makes `wait_for_stop` return with `fault`: a part of the server that it cannot run without has
/// died. Any thread; the first fault counts.
void fail_server(std::string fault);

/// While it lives: a further signal, or `limit` passing, ends the process at once with `forced_code`
/// after `last_act` has run (kill what agents left). It has to outlive everything whose end it
/// guards.
class shutdown_watchdog {
public:
  shutdown_watchdog(std::chrono::milliseconds limit, int forced_code,
                    std::function<void()> last_act);
  ~shutdown_watchdog();

  /// Names the part that ends from here on, for the last words of a forced end. A literal.
  void now_ending(const char* part);

  shutdown_watchdog(const shutdown_watchdog&) = delete;
  shutdown_watchdog& operator=(const shutdown_watchdog&) = delete;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace tidemark
