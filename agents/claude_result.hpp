#pragma once

#include "agents/adapter.hpp"

#include <map>
#include <string>
#include <string_view>

namespace tidemark {

/// What a turn's own lines said that its result needs.
struct claude_turn_facts {
  std::string last_text; ///< of the main conversation's last message
  std::string model;
  std::string api_error;               ///< `error` of the last assistant message
  std::int64_t limit_resets_at = 0;    ///< seconds since 1970 of a rejected rate limit; 0 if none
  std::map<std::string, json> denials; ///< by tool_use_id
  bool interrupted = false;            ///< we asked the agent to stop
  bool spoke_protocol = false;         ///< at least one line was of the protocol
};

/// True if a `result` line answers our prompt: results of background work have an origin of their own.
bool answers_prompt(const json& result);

/// Reads the `result` line that ends a turn; everything but its cost, which needs earlier totals.
turn_result read_claude_result(const json& result, const claude_turn_facts& facts);

/// The end of a turn whose process ended without a result.
turn_result claude_result_of_exit(exit_status how, std::string_view stderr_tail,
                                  const claude_turn_facts& facts);

/// One refused tool call under the names of our events.
json claude_denial(const json& denial);

/// Costs of turns out of a running total that may start again at zero; never negative.
class cost_meter {
public:
  /// The agent's running total as a result line states it.
  void on_total(double total);
  /// The agent said that its totals start again.
  void restart() { last_total_ = 0; }
  /// What was spent since the last call, in whole billionths of a dollar.
  double take();

private:
  double last_total_ = 0;
  double untaken_ = 0;
};

} // namespace tidemark
