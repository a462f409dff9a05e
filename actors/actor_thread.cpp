#include "actors/actor_thread.hpp"

#include "base/logging.hpp"

namespace tidemark {
namespace {

using namespace std::chrono_literals;

constexpr auto last_limit = 5s;

} // namespace

actor_thread::actor_thread(caf::actor_system& system, const char* part)
  : part_(part),
    unit_(system, io_.get_executor()),
    thread_([this] { run(); }) {}

void actor_thread::join() {
  if (!thread_.joinable())
    return;
  work_.reset();
  if (ended_.get_future().wait_for(last_limit) == std::future_status::timeout) {
    logging::error(part_, "a process was not stopped before its thread; it is killed");
    io_.stop();
  }
  thread_.join();
}

void actor_thread::run() {
  for (;;) {
    try {
      io_.run();
      break;
    } catch (const std::exception& failure) {
      // A bug of ours in one session must not end the others.
      logging::error(part_, "a callback failed: {}", failure.what());
    }
  }
  ended_.set_value();
}

} // namespace tidemark
