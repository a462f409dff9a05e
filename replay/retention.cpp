#include "replay/retention.hpp"

#include <algorithm>
#include <string>

namespace tidemark {
namespace {

using std::chrono::milliseconds;

bool has_ended_before(timestamp ended, milliseconds age, timestamp now) {
  return age.count() > 0 && ended.plus(age) <= now;
}

/// Which rule wants the turn at `place` to go, of a stream that would keep `bytes` with it.
std::string reason_for(const outlined_turn& turn, std::size_t left, std::uint64_t bytes,
                       const retention_rules& rules, timestamp now) {
  if (has_ended_before(turn.ended, rules.age, now))
    return "age";
  if (rules.turns > 0 && left > rules.turns)
    return "turns";
  if (rules.bytes > 0 && bytes > rules.bytes)
    return "bytes";
  return {};
}

} // namespace

std::optional<removal_plan> plan_trim(const stream_outline& of, const retention_rules& rules,
                                      timestamp now) {
  const auto& turns = of.turns();
  std::optional<removal_plan> plan;
  const outlined_turn* newest = nullptr; // which has the last event of the turns so far
  timestamp until;
  for (std::size_t i = 0; i + 1 < turns.size(); ++i) {
    const auto& turn = turns[i];
    if (!turn.over || turn.owes_result)
      break;
    const auto before = newest ? of.bytes_up_to(*newest) : 0;
    auto reason = reason_for(turn, turns.size() - i, of.bytes() - before, rules, now);
    if (reason.empty())
      break;
    if (!newest || turn.last > newest->last)
      newest = &turn;
    until = std::max(until, turn.ended);
    if (turns[i + 1].first < newest->last)
      continue; // the next was queued while these ran: only together
    removal_note note;
    note.what = removal_kind::turns;
    note.from = of.trimmed().next();
    note.to = newest->last;
    note.count = note.to.value - of.trimmed().value;
    note.bytes = of.bytes_up_to(*newest);
    note.reason = std::move(reason);
    note.policy = to_json(rules);
    note.hash = newest->hash;
    plan = removal_plan{std::move(note), until};
  }
  return plan;
}

std::optional<removal_plan> plan_deltas(const stream_outline& of, const retention_rules& rules,
                                        timestamp now) {
  std::optional<removal_plan> plan;
  for (const auto& stretch : of.deltas()) {
    if (!has_ended_before(stretch.ended, rules.deltas, now))
      break;
    if (!plan) {
      plan.emplace();
      plan->note.what = removal_kind::deltas;
      plan->note.from = stretch.first;
      plan->note.to = stretch.last;
    }
    plan->note.from = std::min(plan->note.from, stretch.first);
    plan->note.to = std::max(plan->note.to, stretch.last);
    plan->note.count += stretch.count;
    plan->note.bytes += stretch.bytes;
    plan->until = std::max(plan->until, stretch.ended);
  }
  if (plan) {
    plan->note.reason = "deltas";
    plan->note.policy = to_json(rules);
  }
  return plan;
}

} // namespace tidemark
