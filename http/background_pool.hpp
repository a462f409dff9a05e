#pragma once

#include "base/work_pace.hpp"
#include "storage/event_log.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace tidemark {

/// One thread of low priority for work that may take long and must slow nobody: looks at the whole log, hash
/// chains, the files of a backup. After each piece of work it rests as long as the writers of the log ask for
/// (base/work_pace.hpp), so all such work together takes no more than one piece may.
///
/// `stop` and `join` as in boost::asio::thread_pool; a rest does not hold them up.
class background_pool {
public:
  /// The log outlives the pool.
  explicit background_pool(const event_log& log);
  ~background_pool();
  background_pool(const background_pool&) = delete;
  background_pool& operator=(const background_pool&) = delete;

  /// Any thread. Work should come in pieces of some milliseconds: what waits behind one waits for its rest too.
  template <class F>
  void post(F work) {
    boost::asio::post(pool_, [this, run = std::move(work)]() mutable {
      const auto began = std::chrono::steady_clock::now();
      {
        auto once = std::move(run); // what it holds is not held through the rest
        once();
      }
      rest(began);
    });
  }

  [[nodiscard]] boost::asio::thread_pool::executor_type get_executor() {
    return pool_.get_executor();
  }

  void stop();
  void join() { pool_.join(); }

private:
  void rest(std::chrono::steady_clock::time_point began);

  const event_log& log_;
  work_pace pace_; // of the pool's only thread
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopped_ = false;
  boost::asio::thread_pool pool_{1};
};

} // namespace tidemark
