#include "app/shutdown.hpp"

#include "app/reaper.hpp"
#include "base/logging.hpp"

#include <atomic>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>

namespace tidemark {
namespace {

/// A blocked signal is queued even if it is ignored, so what nohup ignores is left out.
bool is_ignored(int number) {
  struct sigaction present {};
  return ::sigaction(number, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGQUIT, SIGCHLD})
    sigaddset(&set, number);
  if (!is_ignored(SIGHUP))
    sigaddset(&set, SIGHUP);
  return set;
}

bool asks_to_stop(int number) {
  return number == SIGTERM || number == SIGINT || number == SIGQUIT || number == SIGHUP;
}

// Set once by whichever thread fails first and read by the main thread after the signal.
std::mutex fault_lock;
std::string fault_text;

std::string fault_so_far() {
  const std::lock_guard hold{fault_lock};
  return fault_text;
}

/// The next of our signals, or 0 after `limit` or if the signal came from `fail_server`, which is
/// nobody's wish to hurry.
int next_signal(std::chrono::milliseconds limit) {
  const auto set = handled_signals();
  const timespec until{limit.count() / 1000, (limit.count() % 1000) * 1'000'000};
  siginfo_t sender{};
  const int number = ::sigtimedwait(&set, &sender, &until);
  const bool from_us = sender.si_code == SI_USER && sender.si_pid == ::getpid();
  return number < 0 || from_us ? 0 : number;
}

} // namespace

void take_signals() {
  const auto set = handled_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN); // NOLINT: a reader that has gone is an error of its write
}

stop_reason wait_for_stop() {
  const bool is_init = ::getpid() == 1;
  for (;;) {
    const int number = next_signal(std::chrono::seconds{1});
    if (auto fault = fault_so_far(); !fault.empty())
      return {0, std::move(fault)};
    if (asks_to_stop(number))
      return {number, {}};
    if (is_init)
      reap_orphans({"tidemark-guard", "tidemark"});
  }
}

void fail_server(std::string fault) {
  {
    const std::lock_guard hold{fault_lock};
    if (!fault_text.empty())
      return;
    fault_text = std::move(fault);
  }
  ::kill(::getpid(), SIGTERM);
}

struct shutdown_watchdog::state {
  std::atomic<bool> over = false;
  std::atomic<const char*> part = "the server";
  std::thread runner;
};

shutdown_watchdog::shutdown_watchdog(std::chrono::milliseconds limit, int forced_code,
                                     std::function<void()> last_act)
  : state_(std::make_unique<state>()) {
  state_->runner =
    std::thread{[s = state_.get(), limit, forced_code, last_act = std::move(last_act)] {
      const auto deadline = std::chrono::steady_clock::now() + limit;
      const char* why = "shutdown took too long";
      while (!s->over && std::chrono::steady_clock::now() < deadline) {
        if (asks_to_stop(next_signal(std::chrono::milliseconds{20}))) {
          why = "asked a second time";
          break;
        }
      }
      if (s->over)
        return;
      logging::error("server", "{}: ending at once, while this was still running: {}", why,
                     s->part.load());
      last_act();
      ::_exit(forced_code);
    }};
}

void shutdown_watchdog::now_ending(const char* part) {
  state_->part = part;
}

shutdown_watchdog::~shutdown_watchdog() {
  state_->over = true;
  state_->runner.join();
}

} // namespace tidemark
