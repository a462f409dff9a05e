#include "http/background_pool.hpp"

#include "storage/memory_log.hpp"
#include "tests/http/damaged_log.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

using namespace tidemark;

SCENARIO(
  "work in the background is done in order, beside a log at rest and beside one that never is") {
  memory_log whole;
  testing::damaged_log log{whole};
  background_pool pool{log};
  std::atomic<int> done = 0;
  bool in_order = true; // read after the last one is done
  for (int i = 0; i < 200; ++i)
    pool.post([&, i] {
      in_order = in_order && done == i;
      if (i >= 100) // as if the log had done nothing but write
        log.committing += std::chrono::nanoseconds{std::chrono::hours{1}}.count();
      ++done;
    });
  REQUIRE(test::poll_until([&] { return done == 200; }));
  CHECK(in_order);
}

SCENARIO("a pool that ends does not wait for the rest that is due") {
  memory_log whole;
  testing::damaged_log log{whole};
  std::atomic<bool> done = false;
  {
    background_pool pool{log};
    pool.post([&] {
      const auto until = std::chrono::steady_clock::now() + work_pace::longest_rest / 20;
      while (std::chrono::steady_clock::now() < until)
        std::this_thread::yield();
      log.committing += std::chrono::nanoseconds{std::chrono::hours{1}}.count();
      done = true;
    });
    REQUIRE(test::poll_until([&] { return done.load(); }));
  }
  CHECK(done);
}
