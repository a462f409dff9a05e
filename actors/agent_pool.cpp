#include "actors/agent_runner.hpp"
#include "actors/agent_runtime.hpp"

#include <algorithm>

namespace tidemark {

std::list<agent_pool::member>::iterator agent_pool::find(agent_runner& runner) {
  return std::find_if(members_.begin(), members_.end(),
                      [&](const member& m) { return m.runner == &runner; });
}

std::size_t agent_pool::free() const {
  return most_ - std::min(most_, members_.size());
}

bool agent_pool::admit(agent_runner& runner) {
  auto place = std::find(waiting_.begin(), waiting_.end(), &runner);
  if (place == waiting_.end())
    place = waiting_.insert(waiting_.end(), &runner);
  const auto before = static_cast<std::size_t>(std::distance(waiting_.begin(), place));
  if (before < free()) {
    waiting_.erase(place);
    return true;
  }
  serve();
  return false;
}

void agent_pool::withdraw(agent_runner& runner) {
  waiting_.remove(&runner);
  serve();
}

void agent_pool::entered(agent_runner& runner) {
  members_.push_back({&runner});
}

void agent_pool::left(agent_runner& runner) {
  const auto at = find(runner);
  if (at != members_.end())
    members_.erase(at);
  serve();
}

void agent_pool::busy(agent_runner& runner) {
  const auto at = find(runner);
  if (at == members_.end())
    return;
  at->idle = false;
  members_.splice(members_.end(), members_, at);
}

void agent_pool::idle(agent_runner& runner) {
  const auto at = find(runner);
  if (at == members_.end())
    return;
  at->idle = true;
  members_.splice(members_.end(), members_, at);
  serve();
}

/// Calls the first of those that wait, as many as there is room for, and makes room for the others.
void agent_pool::serve() {
  auto room = free();
  std::size_t without = 0;
  for (auto* each : waiting_) {
    if (room > 0) {
      --room;
      each->room_made(); // acts later; never changes the lists from in here
    } else {
      ++without;
    }
  }
  evict(without);
}

/// Ends idle processes, the least recently used first, until `wanted` are about to end.
void agent_pool::evict(std::size_t wanted) {
  const auto leaving = [](const member& m) { return m.leaving; };
  auto going = static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), leaving));
  for (auto& each : members_) {
    if (going >= wanted)
      return;
    if (!each.idle || each.leaving)
      continue;
    each.leaving = true;
    ++going;
    each.runner->give_way(); // ends later; never changes the lists from in here
  }
}

} // namespace tidemark
