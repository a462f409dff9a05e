#include "replay/stream_outline.hpp"

#include "base/json.hpp"
#include "storage/removal_note.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tidemark {
namespace {

void join(delta_stretch& to, const delta_stretch& more) {
  if (more.count == 0)
    return;
  to.first = to.count == 0 ? more.first : std::min(to.first, more.first);
  to.last = std::max(to.last, more.last);
  to.count += more.count;
  to.bytes += more.bytes;
}

/// `item.delta` names its item, the others hold it.
std::string item_id(const json& data) {
  return data.contains("item") && data["item"].is_string()
           ? string_or(data, "item")
           : string_or(object_at(data, "item"), "id");
}

/// Takes off what lies up to `last`, as if its bytes were spread evenly.
void cut_off(delta_stretch& from, offset last) {
  if (from.first > last)
    return;
  const auto left = from.last.value - last.value;
  const auto all = from.last.value - from.first.value + 1;
  const auto part = [&](std::uint64_t of) {
    return static_cast<std::uint64_t>(static_cast<double>(of) * static_cast<double>(left)
                                      / static_cast<double>(all));
  };
  from.first = last.next();
  from.count = std::max<std::uint64_t>(part(from.count), 1);
  from.bytes = part(from.bytes);
}

std::uint64_t size_of(const event_view& e) {
  return e.data.size() + e.raw.size();
}

} // namespace

std::uint64_t stream_outline::bytes_up_to(const outlined_turn& turn) const {
  return turn.bytes - std::min(turn.bytes, gone_bytes_);
}

std::uint64_t stream_outline::bytes_before(const outlined_turn& turn) const {
  return turn.start_bytes - std::min(turn.start_bytes, gone_bytes_);
}

outlined_turn* stream_outline::find(std::string_view id) {
  const auto found = places_.find(std::string{id});
  return found == places_.end() ? nullptr : &turns_[found->second - forgotten_turns_];
}

void stream_outline::add(const event_view& e) {
  seen_ = e.at;
  bytes_ += size_of(e);
  if (e.type.starts_with("item."))
    follow_deltas(e);
  follow_turn(e);
  last_hash_ = e.hash ? *e.hash : digest{};
  if (e.type != removal_event_type)
    return;
  const auto data = parse_json(e.data);
  if (const auto note = data ? removal_note_of(*data) : std::nullopt) {
    auto& told = note->what == removal_kind::turns ? told_trim_ : told_deltas_;
    told = std::max(told, note->to);
  }
}

void stream_outline::follow_turn(const event_view& e) {
  if (e.turn.empty())
    return;
  auto* turn = find(e.turn);
  if (!turn) {
    if (e.type != "turn.queued")
      return; // of a turn that is gone
    places_.emplace(e.turn, forgotten_turns_ + turns_.size());
    turn = &turns_.emplace_back();
    turn->id = e.turn;
    turn->first = e.at;
    turn->hash_before = last_hash_;
    turn->start_bytes = bytes_ - size_of(e);
    const auto data = parse_json(e.data);
    turn->holds_result = data && bool_or(object_at(*data, "options"), "holds_result", false);
  }
  turn->last = e.at;
  turn->hash = e.hash ? *e.hash : digest{};
  turn->bytes = bytes_;
  if (e.type == "turn.completed") {
    const auto data = parse_json(e.data);
    turn->over = true;
    turn->ended = e.time;
    turn->owes_result = turn->holds_result && (!data || string_or(*data, "outcome") != "cancelled");
    close_stretch(e.time);
  } else if (e.type == "result.delivered") {
    turn->owes_result = false;
  }
}

void stream_outline::follow_deltas(const event_view& e) {
  const auto data = parse_json(e.data);
  const auto item = data ? item_id(*data) : std::string{};
  if (item.empty())
    return;
  if (e.type == "item.completed") {
    if (const auto done = open_.find(item); done != open_.end()) {
      join(ready_, done->second);
      open_.erase(done);
    }
    return;
  }
  auto& of_item = open_[item];
  if (e.type == emptied_event_type && !e.emptied)
    join(of_item, {e.at, e.at, 1, size_of(e), {}});
}

void stream_outline::close_stretch(timestamp ended) {
  if (ready_.count == 0)
    return;
  ready_.ended = ended;
  deltas_.push_back(std::exchange(ready_, {}));
}

std::optional<offset> stream_outline::owed_trim() const {
  return told_trim_ > trimmed_ ? std::optional{told_trim_} : std::nullopt;
}

std::optional<std::pair<offset, offset>> stream_outline::owed_deltas() const {
  delta_stretch owed;
  for (const auto& stretch : deltas_)
    if (stretch.last <= told_deltas_)
      join(owed, stretch);
  return owed.count == 0 ? std::nullopt : std::optional{std::pair{owed.first, owed.last}};
}

void stream_outline::forget_events(offset last) {
  trimmed_ = std::max(trimmed_, last);
  while (!turns_.empty() && turns_.front().first <= trimmed_) {
    const auto& gone = turns_.front();
    gone_bytes_ = std::max(gone_bytes_, gone.last <= trimmed_ ? gone.bytes : gone.start_bytes);
    places_.erase(gone.id);
    turns_.pop_front();
    ++forgotten_turns_;
  }
  if (!turns_.empty() && turns_.front().first == trimmed_.next())
    gone_bytes_ = std::max(gone_bytes_, turns_.front().start_bytes);
  std::erase_if(deltas_, [&](const auto& stretch) { return stretch.last <= trimmed_; });
  for (auto& stretch : deltas_)
    cut_off(stretch, trimmed_);
}

void stream_outline::forget_deltas(offset last) {
  const auto end =
    std::ranges::find_if(deltas_, [&](const auto& each) { return each.last > last; });
  // What went lies before the places of turns behind it, whose sums shrink along.
  const auto shrink = [&](offset outlined_turn::*place, std::uint64_t outlined_turn::*sum) {
    std::uint64_t gone = 0;
    auto stretch = deltas_.begin();
    for (auto& turn : turns_) {
      for (; stretch != end && stretch->last < turn.*place; ++stretch)
        gone += stretch->bytes;
      turn.*sum -= std::min(turn.*sum, gone);
    }
  };
  shrink(&outlined_turn::last, &outlined_turn::bytes);
  shrink(&outlined_turn::first, &outlined_turn::start_bytes);
  const auto gone = std::accumulate(deltas_.begin(), end, std::uint64_t{0},
                                    [](auto sum, const auto& each) { return sum + each.bytes; });
  bytes_ -= std::min(bytes_, gone);
  deltas_.erase(deltas_.begin(), end);
}

} // namespace tidemark
