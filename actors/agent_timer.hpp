#pragma once

#include "actors/bridge.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace tidemark {

/// A timer that calls once. After cancel(), start() or its destruction an earlier call never comes,
/// not even if it was due already. Used on the thread of its io_context.
class one_shot {
public:
  explicit one_shot(asio_unit::executor ex) : timer_(ex) {}
  one_shot(const one_shot&) = delete;
  one_shot& operator=(const one_shot&) = delete;
  ~one_shot() { cancel(); }

  void start(std::chrono::milliseconds after, std::function<void()> call) {
    const auto mine = ++*generation_;
    timer_.expires_after(after);
    timer_.async_wait(
      [generation = generation_, mine, call = std::move(call)](boost::system::error_code) {
        if (*generation == mine)
          call();
      });
  }

  void cancel() {
    ++*generation_;
    timer_.cancel();
  }

private:
  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>,
                                    asio_unit::executor>
    timer_;
  /// Outlives the timer in its handlers.
  std::shared_ptr<std::uint64_t> generation_ = std::make_shared<std::uint64_t>(0);
};

} // namespace tidemark
