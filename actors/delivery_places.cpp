#include "actors/delivery_places.hpp"

#include <algorithm>

namespace tidemark {

delivery_places::delivery_places(std::size_t quick, clock::duration patience)
  : quick_(std::max<std::size_t>(quick, 1)),
    patience_(patience) {}

bool delivery_places::ask(const webhook_key& who, bool slow, clock::time_point now) {
  age(now);
  auto& waiting = slow ? slow_line_ : quick_line_;
  if (waiting.order.empty() && room_for(slow))
    return true;
  waiting.join(who);
  return false;
}

void delivery_places::begin(std::uint64_t delivery, bool slow, clock::time_point now) {
  if (slow)
    slow_.insert(delivery);
  else
    begun_.emplace(delivery, now);
}

void delivery_places::end(std::uint64_t delivery) {
  begun_.erase(delivery);
  slow_.erase(delivery);
}

std::optional<webhook_key> delivery_places::next(clock::time_point now) {
  age(now);
  for (const auto slow : {false, true}) {
    auto& waiting = slow ? slow_line_ : quick_line_;
    if (!waiting.order.empty() && room_for(slow))
      return waiting.leave();
  }
  return std::nullopt;
}

std::optional<delivery_places::clock::time_point> delivery_places::next_change() const {
  if (quick_line_.order.empty() || begun_.empty() || slow_.size() >= quick_ * slow_per_quick)
    return std::nullopt;
  return begun_.begin()->second + patience_;
}

/// Numbers only grow, so the first holder is the one that began first.
void delivery_places::age(clock::time_point now) {
  while (!begun_.empty() && begun_.begin()->second + patience_ <= now
         && slow_.size() < quick_ * slow_per_quick) {
    slow_.insert(begun_.begin()->first);
    begun_.erase(begun_.begin());
  }
}

bool delivery_places::room_for(bool slow) const {
  return slow ? slow_.size() < quick_ * slow_per_quick / 2 : begun_.size() < quick_;
}

void delivery_places::line::join(const webhook_key& who) {
  if (members.insert(who).second)
    order.push_back(who);
}

webhook_key delivery_places::line::leave() {
  auto first = std::move(order.front());
  order.pop_front();
  members.erase(first);
  return first;
}

} // namespace tidemark
