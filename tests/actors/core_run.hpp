#pragma once

#include "actors/workspace_core.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tidemark::testing {

/// A workspace's core with a log of its own in memory: every input's events are stored, and a
/// replica replays them.
struct core_run {
  workspace_rules rules;
  workspace_state working;
  workspace_state replica; ///< made by evolve over the stored events alone
  std::set<std::string> clients;
  std::vector<event> stored;
  std::map<std::string, std::string> turns; ///< the `turns` table
  std::map<std::string, std::string> meta;
  std::vector<effect> effects;           ///< of the last input
  std::optional<expected<answer>> reply; ///< of the last input
  timestamp now{1'000'000'000'000'000'000};
  int next_id = 1;

  core_run();

  void take(decided out);
  void ask(const command& what) { take(decide(working, rules, what, new_turn(), clients, now)); }
  void report(const session_report& what) { take(decide(working, rules, what, clients, now)); }
  void tick() { take(on_tick(working, rules, clients, now)); }
  void pass(std::chrono::nanoseconds time) { now = now.plus(time); }
  /// The process dies and the state is recovered from the log.
  void restart();
  workspace_state replayed() const;

  std::string new_turn();
  /// Submits a turn and returns its id.
  std::string submit(submit_turn what = {});
  std::string submit(const std::string& prompt);
  std::string submit_held(const std::string& prompt);

  /// The turn of a `start_turn` effect of the last input; empty if there is none.
  std::string begun() const;
  std::optional<session_begin> begin() const;
  std::optional<stop_force> stopped() const;

  std::vector<event> of_type(std::string_view type, std::string_view turn = {}) const;
  json last(std::string_view type) const;

  template <class T>
  const T& answered() const {
    return std::get<T>(reply.value().value());
  }
};

/// Every item that starts is completed once, before the end of its turn, with the text that its
/// deltas brought; and nothing of a turn comes after its end but the delivery of its result.
void check_items(const std::vector<event>& events);

session_report started(const std::string& turn, const std::string& session = {});
session_report ended(const std::string& turn, outcome how = outcome::succeeded,
                     const std::string& text = "done");
session_report failed(const std::string& turn, const std::string& code,
                      const std::string& message = "no");

} // namespace tidemark::testing
