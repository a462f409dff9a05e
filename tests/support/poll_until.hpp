#pragma once

#include "tests/support/sanitized.hpp"

#include <chrono>
#include <thread>

namespace tidemark::test {

/// Asks `condition` again and again until it is true. False if it is not within `limit`.
/// For what no event announces: files, processes, another program's state.
template <class Condition>
bool poll_until(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  const auto deadline = std::chrono::steady_clock::now() + limit * patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) {
      return condition();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

} // namespace tidemark::test
