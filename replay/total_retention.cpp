#include "replay/total_retention.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace tidemark {
namespace {

/// A turn that may go next.
struct candidate {
  timestamp ended;
  std::size_t workspace = 0;

  friend bool operator>(const candidate& a, const candidate& b) {
    return std::pair{a.ended, a.workspace} > std::pair{b.ended, b.workspace};
  }
};

} // namespace

total_plan plan_total(const std::vector<const stream_outline*>& of, std::uint64_t limit) {
  total_plan out;
  std::vector<trim_walk> walks;
  std::priority_queue<candidate, std::vector<candidate>, std::greater<>> next;
  const auto offer = [&](std::size_t workspace) {
    if (const auto* turn = walks[workspace].next())
      next.push({turn->ended, workspace});
  };
  for (const auto* each : of) {
    out.bytes += each->bytes();
    walks.emplace_back(*each);
    offer(walks.size() - 1);
  }
  auto left = out.bytes;
  while (left > limit && !next.empty()) {
    const auto which = next.top().workspace;
    next.pop();
    auto& walk = walks[which];
    const auto before = walk.cut_bytes();
    walk.take();
    left -= std::min(left, std::max(walk.cut_bytes(), before) - before);
    offer(which);
  }
  out.beyond = left > limit ? left - limit : 0;
  json policy = json::object();
  policy["total_bytes"] = limit;
  for (std::size_t i = 0; i < walks.size(); ++i)
    if (auto plan = walks[i].plan("total_bytes", policy))
      out.removals.emplace_back(i, std::move(*plan));
  return out;
}

} // namespace tidemark
