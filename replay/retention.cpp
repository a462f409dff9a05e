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

const outlined_turn* trim_walk::next() const {
  const auto& turns = of_.turns();
  if (taken_ + 1 >= turns.size())
    return nullptr;
  const auto& turn = turns[taken_];
  return turn.over && !turn.owes_result ? &turn : nullptr;
}

void trim_walk::take() {
  const auto& turn = of_.turns()[taken_++];
  if (!newest_ || turn.last > newest_->last)
    newest_ = &turn;
  until_ = std::max(until_, turn.ended);
  const auto& after = of_.turns()[taken_];
  const offset before_it{after.first.value - 1};
  if (after.first > newest_->last)
    cut_ = cut{newest_->last, newest_->hash, taken_bytes(), until_};
  else if (before_it > of_.trimmed() && of_.bytes_before(after) >= taken_bytes() / 2
           && of_.bytes_before(after) > cut_bytes())
    cut_ = cut{before_it, after.hash_before, of_.bytes_before(after), until_};
}

std::uint64_t trim_walk::taken_bytes() const {
  return newest_ ? of_.bytes_up_to(*newest_) : 0;
}

std::optional<removal_plan> trim_walk::plan(std::string reason, json policy) const {
  if (!cut_)
    return std::nullopt;
  removal_note note;
  note.what = removal_kind::turns;
  note.from = of_.trimmed().next();
  note.to = cut_->to;
  note.count = note.to.value - of_.trimmed().value;
  note.bytes = cut_->bytes;
  note.reason = std::move(reason);
  note.policy = std::move(policy);
  note.hash = cut_->hash;
  return removal_plan{std::move(note), cut_->until};
}

std::optional<removal_plan> plan_trim(const stream_outline& of, const retention_rules& rules,
                                      timestamp now) {
  trim_walk walk{of};
  std::string reason;
  auto left = of.turns().size();
  while (const auto* turn = walk.next()) {
    auto why =
      reason_for(*turn, left--, of.bytes() - std::min(of.bytes(), walk.taken_bytes()), rules, now);
    if (why.empty())
      break;
    reason = std::move(why);
    walk.take();
  }
  return walk.plan(std::move(reason), to_json(rules));
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
