// The log over a disk that fails in every way that a disk can, below RocksDB.
#include "storage/rocks_event_log.hpp"
#include "tests/faults/log/log_oracle.hpp"
#include "tests/faults/log/unreliable_disk.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/seed.hpp"

#include <catch2/catch.hpp>
#include <iostream>

#include <rocksdb/env.h>

using namespace tidemark;
using namespace tidemark::testing;
using tidemark::test::poll_until;
using tidemark::test::test_seed;

namespace fs = std::filesystem;

namespace {

constexpr int cycles_a_log = 20; // all of a log is read after each cycle

rocks_log_options small_log(const fs::path& directory) {
  auto options = options_for(directory);
  options.max_wal_bytes = 64 << 10; // flushes and new write-ahead logs all the time
  return options;
}

/// One life of a disk, and of what runs on it.
struct machine {
  machine(const fs::path& directory, const fs::path& attic, std::uint64_t seed)
    : disk(std::make_shared<unreliable_disk>(directory, attic, seed)),
      env(rocksdb::NewCompositeEnv(disk)) {}

  expected<std::unique_ptr<event_log>> open(const fs::path& directory) const {
    return rocks_event_log::open(small_log(directory), env.get());
  }

  std::shared_ptr<unreliable_disk> disk;
  std::unique_ptr<rocksdb::Env> env;
};

/// The directories of one test, one a life.
class lives {
public:
  [[nodiscard]] fs::path current() const { return root_.path() / std::to_string(number_); }
  [[nodiscard]] fs::path next() const { return root_.path() / std::to_string(number_ + 1); }
  [[nodiscard]] fs::path attic() const { return root_.path() / "attic"; }
  void advance() {
    fs::remove_all(current());
    fs::remove_all(attic());
    ++number_;
  }

private:
  temporary_directory root_;
  int number_ = 0;
};

remains some_remains(std::mt19937_64& dice) {
  return std::array{remains::nothing, remains::some, remains::some_and_zeros}[dice() % 3];
}

/// Opens what a loss of power has left. Where zeros stand for bytes that were never written, a torn
/// record looks like a damaged one, and the log asks its operator (docs/reliability.md): then to go
/// on without the tail must cost nothing that was acknowledged.
expected<std::unique_ptr<event_log>> open_after_loss(const fs::path& directory, remains what,
                                                     int& asked) {
  auto log = open_rocks_log(small_log(directory));
  if (log || what != remains::some_and_zeros || log.error().code != errc::corrupt)
    return log;
  ++asked;
  auto told = small_log(directory);
  told.accept_wal_loss = true;
  return open_rocks_log(told);
}

struct power_losses {
  int losses = 0, while_opening = 0, asked = 0;
  std::uint64_t acknowledged = 0, commits = 0;

  void run(int cycles) {
    const auto seed = test_seed("power losses");
    INFO("seed " << seed);
    std::mt19937_64 dice{seed};
    for (int done = 0; done < cycles; done += cycles_a_log) {
      on_one_log(std::min(cycles_a_log, cycles - done), dice);
      std::cout << "power loss " << std::min(done + cycles_a_log, cycles) << " of " << cycles
                << ": " << acknowledged << " events of " << commits
                << " commits acknowledged, all there" << std::endl;
    }
    std::cout << losses << " power losses, " << while_opening
              << " of them while the log was opened; after " << asked
              << " a tail of zeros was asked about" << std::endl;
  }

  void on_one_log(int cycles, std::mt19937_64& dice) {
    lives where;
    log_oracle oracle{dice()};
    for (int i = 0; i < cycles; ++i, where.advance()) {
      const auto within = 1 + static_cast<int>(dice() % 150);
      const auto left = some_remains(dice);
      INFO("cycle " << i << ", power lost within " << within << " calls");
      {
        const machine now{where.current(), where.attic(), dice()};
        now.disk->lose_power_after(within);
        auto log = now.open(where.current());
        while_opening += log ? 0 : 1;
        while (log && oracle.commit(**log))
          if (dice() % 30 == 0)
            log = reopen(std::move(*log), now, where);
        CHECK_FALSE(now.disk->has_power());
        if (log)
          log->reset();
        now.disk->restart_as(where.next(), left);
      }
      ++losses;
      const auto log = open_after_loss(where.next(), left, asked);
      INFO((log ? "" : log.error().describe()));
      REQUIRE(log);
      REQUIRE(oracle.check(**log) == "");
    }
    acknowledged += oracle.acknowledged();
    commits += oracle.commits();
  }

  static expected<std::unique_ptr<event_log>> reopen(std::unique_ptr<event_log> log,
                                                     const machine& now, const lives& where) {
    log.reset();
    return now.open(where.current());
  }
};

disk_fault some_fault(std::mt19937_64& dice) {
  disk_fault fault;
  fault.at = static_cast<disk_call>(dice() % disk_calls);
  const auto often = fault.at == disk_call::append || fault.at == disk_call::sync;
  fault.nth = 1 + static_cast<int>(dice() % (often ? 20 : 3));
  fault.times = dice() % 3 == 0 ? 1000 : 1;
  fault.no_space = dice() % 3 == 0;
  fault.writes_part = dice() % 2 == 0;
  return fault;
}

const char* name_of(disk_call what) {
  return std::array{"append", "sync", "create", "rename", "remove", "sync of the directory"}
    [static_cast<std::size_t>(what)];
}

struct disk_failures {
  int struck = 0, refused = 0, healed = 0, asked = 0;
  std::chrono::milliseconds slowest{};
  std::map<std::string, int> by_call;

  void run(int cycles) {
    const auto seed = test_seed("disk failures");
    INFO("seed " << seed);
    std::mt19937_64 dice{seed};
    for (int done = 0; done < cycles; done += cycles_a_log) {
      on_one_log(std::min(cycles_a_log, cycles - done), dice);
      std::cout << "disk failure " << std::min(done + cycles_a_log, cycles) << " of " << cycles
                << ": " << struck << " struck, " << refused << " made the log refuse, " << healed
                << " healed, the slowest within " << slowest.count() << " ms" << std::endl;
    }
    for (const auto& [call, count] : by_call)
      std::cout << "  " << count << " failures of " << call << std::endl;
  }

  // Every second life ends by a power loss, the others in order.
  void on_one_log(int cycles, std::mt19937_64& dice) {
    lives where;
    log_oracle oracle{dice()};
    for (int i = 0; i < cycles; ++i, where.advance()) {
      const machine now{where.current(), where.attic(), dice()};
      auto log = now.open(where.current());
      INFO("cycle " << i << (log ? "" : log.error().describe()));
      REQUIRE(log);
      const auto fault = some_fault(dice);
      INFO(name_of(fault.at) << " fails, the " << fault.nth << "th, " << fault.times << " times, "
                             << (fault.no_space ? "no space" : "I/O error")
                             << (fault.writes_part ? ", writes a part" : ""));
      now.disk->fail(fault);
      write_until_refused(**log, oracle);
      struck += now.disk->struck() > 0 ? 1 : 0;
      by_call[name_of(fault.at)] += now.disk->struck() > 0 ? 1 : 0;
      now.disk->heal();
      wait_until_healed(**log, oracle);
      // A flush that had failed before may be noticed only now, once.
      if (!oracle.commit(**log))
        wait_until_healed(**log, oracle);
      for (int more = 0; more < 3; ++more)
        REQUIRE(oracle.commit(**log));
      REQUIRE(oracle.check_readable(**log) == "");
      const auto in_order = dice() % 2 == 0;
      if (in_order)
        log->reset();
      const auto left = some_remains(dice);
      now.disk->restart_as(where.next(), left);
      if (!in_order)
        log->reset();
      const auto after = open_after_loss(where.next(), left, asked);
      INFO((after ? "" : after.error().describe()));
      REQUIRE(after);
      REQUIRE(oracle.check(**after) == "");
    }
  }

  void write_until_refused(event_log& log, log_oracle& oracle) {
    for (int i = 0; i < 40; ++i) {
      if (oracle.commit(log))
        continue;
      ++refused;
      CHECK_FALSE(log.health().accepting);
      CHECK_FALSE(log.health().reason.empty());
      // Latched: what was refused once is not acknowledged later without a new write-ahead log.
      CHECK_FALSE(append(log, "stream-0", "must not be acknowledged").has_value());
      CHECK(oracle.check_readable(log) == "");
      return;
    }
  }

  void wait_until_healed(event_log& log, log_oracle& oracle) {
    const auto began = std::chrono::steady_clock::now();
    const auto was_refusing = !log.health().accepting;
    REQUIRE(poll_until([&] { return log.try_recover() && log.health().accepting; },
                       std::chrono::seconds{60}));
    REQUIRE(oracle.check(log) == "");
    healed += was_refusing ? 1 : 0;
    slowest = std::max(slowest, std::chrono::duration_cast<std::chrono::milliseconds>(
                                  std::chrono::steady_clock::now() - began));
  }
};

} // namespace

SCENARIO("what was acknowledged survives a loss of power at any call to the disk") {
  power_losses{}.run(25);
}

SCENARIO("what was acknowledged survives two thousand losses of power", "[long][.]") {
  power_losses{}.run(2000);
}

SCENARIO("a disk that fails makes the log refuse, not lie, and it goes on once the disk is well") {
  disk_failures{}.run(25);
}

SCENARIO("a disk that fails a thousand times makes the log refuse, not lie", "[long][.]") {
  disk_failures{}.run(1000);
}
