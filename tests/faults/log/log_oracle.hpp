#pragma once

#include "tests/storage/support.hpp"

#include <map>
#include <random>
#include <string>
#include <vector>

namespace tidemark::testing {

/// Writes to a log and remembers what it was answered, so that it can tell after any accident what
/// the log must hold: all that was acknowledged, and of the last commit that was refused or never
/// answered all or nothing.
class log_oracle {
public:
  explicit log_oracle(std::uint64_t seed) : dice_(seed) {}

  /// One commit of a few requests. False if the log refused it.
  bool commit(event_log& log);
  /// Checks all that the log holds, and takes for acknowledged what came through after all. The
  /// first thing that is wrong; empty if none.
  std::string check(const event_log& log);
  /// The acknowledged events can be read, and no other: for a log that is still the one that
  /// answered.
  [[nodiscard]] std::string check_readable(const event_log& log) const;

  [[nodiscard]] std::uint64_t acknowledged() const;
  [[nodiscard]] std::uint64_t commits() const { return commits_; }
  [[nodiscard]] std::mt19937_64& dice() { return dice_; }

private:
  using content = std::map<std::string, std::vector<std::string>>;

  std::string some_data();
  /// The last commit counts.
  void settle();
  static expected<content> content_of(const event_log& log);
  static std::string check_order(const event_log& log);

  std::mt19937_64 dice_;
  content known_;
  content unsure_; ///< the commit that was refused last
  std::uint64_t commits_ = 0;
};

} // namespace tidemark::testing
