#include "actors/agent_runner.hpp"
#include "actors/agent_runtime.hpp"

#include <algorithm>

namespace tidemark {

std::list<agent_pool::member>::iterator agent_pool::find(agent_runner& runner) {
  return std::find_if(members_.begin(), members_.end(),
                      [&](const member& m) { return m.runner == &runner; });
}

void agent_pool::make_room() {
  shrink_to(most_ == 0 ? 0 : most_ - 1);
}

void agent_pool::entered(agent_runner& runner) {
  members_.push_back({&runner});
}

void agent_pool::left(agent_runner& runner) {
  const auto at = find(runner);
  if (at != members_.end())
    members_.erase(at);
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
  shrink_to(most_);
}

void agent_pool::shrink_to(std::size_t count) {
  const auto staying = [](const member& m) { return !m.leaving; };
  auto live = static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), staying));
  for (auto& each : members_) {
    if (live <= count)
      return;
    if (!each.idle || each.leaving)
      continue;
    each.leaving = true;
    --live;
    each.runner->give_way(); // ends later; never changes the list from in here
  }
}

} // namespace tidemark
