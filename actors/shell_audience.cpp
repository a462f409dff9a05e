#include "actors/shell_audience.hpp"

#include <algorithm>
#include <utility>

namespace tidemark {

std::uint64_t shell_audience::enter(std::function<void()> wake, bool keeps) {
  auto& added = clients_[++last_];
  added.wake = std::move(wake);
  added.keeps = keeps;
  return last_;
}

bool shell_audience::leave(std::uint64_t who) {
  const auto found = clients_.find(who);
  if (found == clients_.end())
    return false;
  kept_ = found->second.keeps;
  clients_.erase(found);
  choose_size();
  return true;
}

const std::uint64_t* shell_audience::place_of(std::uint64_t who) const {
  const auto found = clients_.find(who);
  return found == clients_.end() ? nullptr : &found->second.place;
}

void shell_audience::move(std::uint64_t who, std::uint64_t place, bool sleeps) {
  const auto found = clients_.find(who);
  if (found == clients_.end())
    return;
  found->second.place = place;
  found->second.sleeps = sleeps;
}

void shell_audience::wake() {
  for (auto& [number, each] : clients_)
    if (std::exchange(each.sleeps, false) && each.wake)
      each.wake();
}

void shell_audience::mark_cut(std::uint64_t who) {
  if (const auto found = clients_.find(who); found != clients_.end())
    found->second.was_cut = true;
}

std::optional<std::uint64_t> shell_audience::foremost() const {
  const auto has_all = [](const auto& entry) { return !entry.second.was_cut; };
  const auto only_these = std::ranges::any_of(clients_, has_all);
  std::optional<std::uint64_t> found;
  for (const auto& entry : clients_)
    if (!only_these || has_all(entry))
      found = std::max(found.value_or(0), entry.second.place);
  return found;
}

bool shell_audience::resize(std::uint64_t who, terminal_size wanted) {
  const auto found = clients_.find(who);
  if (found == clients_.end())
    return false;
  found->second.size = wanted;
  found->second.resized = ++resizes_;
  choose_size();
  return true;
}

void shell_audience::choose_size() {
  if (clients_.empty())
    return;
  std::uint64_t latest = 0;
  auto chosen = initial_;
  for (const auto& [number, each] : clients_)
    if (each.size && each.resized > latest) {
      latest = each.resized;
      chosen = *each.size;
    }
  size_ = chosen;
}

} // namespace tidemark
