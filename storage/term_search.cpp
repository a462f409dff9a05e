#include "storage/term_search.hpp"

#include <utility>

namespace tidemark {

term_search::term_search(std::vector<std::vector<std::unique_ptr<posting_list>>> groups,
                         direction way)
  : way_(way) {
  for (auto& lists : groups) {
    auto& group = groups_.emplace_back();
    for (auto& list : lists)
      group.push_back({std::move(list), std::nullopt, false});
  }
}

expected<std::optional<position>> term_search::nearest(std::vector<cursor>& group, position from) {
  std::optional<position> best;
  for (auto& each : group) {
    if (!each.asked || (each.at && before(*each.at, from))) {
      auto sought = each.list->seek(from);
      if (!sought)
        return tl::unexpected(sought.error());
      each.at = *sought;
      each.asked = true;
    }
    if (each.at && (!best || before(*each.at, *best)))
      best = each.at;
  }
  return best;
}

expected<term_search::found> term_search::next(position from, std::size_t max_steps) {
  for (std::size_t step = 0; step < max_steps; ++step) {
    bool agreed = true;
    for (auto& group : groups_) {
      const auto at = nearest(group, from);
      if (!at)
        return tl::unexpected(at.error());
      if (!*at)
        return found{std::nullopt, from, true};
      if (**at != from) {
        from = **at;
        agreed = false;
      }
    }
    if (agreed)
      return found{from, from, false};
  }
  return found{std::nullopt, from, false};
}

} // namespace tidemark
