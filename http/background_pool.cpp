#include "http/background_pool.hpp"

#include "base/thread_priority.hpp"

namespace tidemark {

background_pool::background_pool(const event_log& log)
  : log_(log),
    pace_(std::chrono::steady_clock::now(), log.time_committing()) {
  boost::asio::post(pool_, lower_priority_of_this_thread);
}

background_pool::~background_pool() {
  stop();
  join();
}

void background_pool::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
  }
  stop_.notify_all();
  pool_.stop();
}

void background_pool::rest(std::chrono::steady_clock::time_point began) {
  const auto pause =
    pace_.rest_after(began, std::chrono::steady_clock::now(), log_.time_committing());
  if (pause == work_pace::duration::zero())
    return;
  std::unique_lock lock{mutex_};
  stop_.wait_for(lock, pause, [this] { return stopped_; });
}

} // namespace tidemark
