#pragma once

#include "actors/bridge.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

namespace tidemark {

/// A coalescing wake-up for one coroutine: many notifications before it looks are one.
/// (asio::experimental::channel loses wake-ups after a cancelled receive: asio issue 1241.)
class wake_event : public std::enable_shared_from_this<wake_event> {
public:
  using executor = asio_unit::executor;

  explicit wake_event(executor ex) : timer_(std::in_place, ex), executor_(ex) {}

  /// Any thread, also after `close`.
  void notify() {
    if (set_.exchange(true, std::memory_order_acq_rel))
      return;
    const auto lock = std::lock_guard{mutex_};
    if (!closed_)
      boost::asio::post(executor_, [self = shared_from_this()] {
        if (self->timer_)
          self->timer_->cancel();
      });
  }

  /// Returns once notified, or after `limit`. Only on the executor's thread.
  boost::asio::awaitable<void, executor> wait(std::chrono::steady_clock::duration limit) {
    if (set_.exchange(false, std::memory_order_acq_rel))
      co_return;
    timer_->expires_after(limit);
    co_await timer_->async_wait(as_result);
    set_.store(false, std::memory_order_release);
  }

  /// From now on notifications do nothing: the executor may go. Only on the executor's thread.
  void close() {
    const auto lock = std::lock_guard{mutex_};
    closed_ = true;
    timer_.reset();
  }

private:
  using timer = boost::asio::basic_waitable_timer<
    std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, executor>;

  std::optional<timer> timer_; // empty once closed: wakers outlive the io_context
  executor executor_;
  std::atomic<bool> set_{false};
  std::mutex mutex_; // guards closed_ against a notifier that is about to post
  bool closed_ = false;
};

} // namespace tidemark
