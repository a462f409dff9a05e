#pragma once

#include "actors/bridge.hpp"

#include <boost/asio/executor_work_guard.hpp>

#include <future>
#include <thread>

namespace tidemark {

/// An I/O thread with the actors that are pinned to it and the processes that they own.
class actor_thread {
public:
  /// `part` names it in the log: `agent`. A literal.
  actor_thread(caf::actor_system& system, const char* part);
  ~actor_thread() { join(); }
  actor_thread(const actor_thread&) = delete;
  actor_thread& operator=(const actor_thread&) = delete;

  /// Joins the thread once nothing is pending on it; waits some seconds for that, for guards that are
  /// still cleaning up, then goes without. Precondition: its actors have been stopped. What they work
  /// with has to live until then.
  void join();

  [[nodiscard]] boost::asio::io_context& io() { return io_; }
  [[nodiscard]] asio_unit& unit() { return unit_; }

private:
  void run();

  const char* part_;
  boost::asio::io_context io_{1};
  asio_unit unit_;
  boost::asio::executor_work_guard<asio_unit::executor> work_{io_.get_executor()};
  std::promise<void> ended_;
  std::thread thread_;
};

} // namespace tidemark
