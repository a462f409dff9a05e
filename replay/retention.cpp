#include "replay/retention.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace tidemark {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<const char*, 4> members{"age_s", "bytes", "turns", "deltas_s"};

/// About three hundred years: as nanoseconds it would not fit a moment in time.
constexpr std::int64_t longest_seconds = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;

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

bool retention_rules::keep_all() const {
  return *this == retention_rules{};
}

json to_json(const retention_rules& rules) {
  json out = json::object();
  if (rules.age.count() > 0)
    out["age_s"] = std::chrono::duration_cast<seconds>(rules.age).count();
  if (rules.bytes > 0)
    out["bytes"] = rules.bytes;
  if (rules.turns > 0)
    out["turns"] = rules.turns;
  if (rules.deltas.count() > 0)
    out["deltas_s"] = std::chrono::duration_cast<seconds>(rules.deltas).count();
  return out;
}

retention_rules rules_with(retention_rules defaults, const json& own) {
  const auto take = [&](const char* key) -> std::optional<std::int64_t> {
    if (!own.is_object() || !own.contains(key) || !own[key].is_number_integer())
      return std::nullopt;
    return std::clamp<std::int64_t>(int_or(own, key, 0), 0,
                                    std::numeric_limits<std::int64_t>::max());
  };
  if (const auto age = take("age_s"))
    defaults.age = seconds{std::min(*age, longest_seconds)};
  if (const auto bytes = take("bytes"))
    defaults.bytes = static_cast<std::uint64_t>(*bytes);
  if (const auto turns = take("turns"))
    defaults.turns = static_cast<std::uint64_t>(*turns);
  if (const auto deltas = take("deltas_s"))
    defaults.deltas = seconds{std::min(*deltas, longest_seconds)};
  return defaults;
}

expected<void> check_retention(const json& own) {
  if (!own.is_object())
    return fail(errc::invalid_argument, "\"retain\" must be an object");
  for (const auto& [key, value] : own.items()) {
    if (std::ranges::find(members, key) == members.end())
      return fail(errc::invalid_argument,
                  "\"retain\" has no member \"" + key
                    + "\"; it takes \"age_s\", \"bytes\", \"turns\" and \"deltas_s\"");
    if (!value.is_null() && (!value.is_number_integer() || int_or(own, key.c_str(), -1) < 0))
      return fail(errc::invalid_argument, "\"retain." + key
                                            + "\" must be a whole number, 0 to keep everything, "
                                              "or null for the server's own setting");
  }
  return {};
}

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
