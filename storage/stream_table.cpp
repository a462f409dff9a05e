#include "storage/stream_table.hpp"

#include <algorithm>

namespace tidemark {

const stream_info& stream_table::acquire(std::string_view name) {
  const auto* latest = newest(name);
  if (latest && !latest->ended)
    return *latest;
  stream_info fresh;
  fresh.name = name;
  fresh.id = next_id_;
  fresh.incarnation = std::max(least_, latest ? latest->incarnation.next() : epoch{1});
  const auto id = fresh.id;
  put(std::move(fresh));
  return by_id_.at(id);
}

const stream_info* stream_table::newest(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : find(found->second.rbegin()->second);
}

const stream_info* stream_table::find(stream_id id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

std::vector<stream_info> stream_table::stored() const {
  std::vector<stream_info> result;
  for (const auto& [name, incarnations] : by_name_) {
    const auto written =
      std::find_if(incarnations.rbegin(), incarnations.rend(),
                   [&](const auto& entry) { return by_id_.at(entry.second).head > offset{0}; });
    if (written != incarnations.rend())
      result.push_back(by_id_.at(written->second));
  }
  return result;
}

std::vector<stream_info> stream_table::all() const {
  std::vector<stream_info> result;
  for (const auto& [id, info] : by_id_)
    result.push_back(info);
  return result;
}

void stream_table::put(stream_info info) {
  next_id_ = std::max(next_id_, info.id.next());
  auto [entry, added] = by_id_.try_emplace(info.id);
  if (added)
    by_name_[info.name][info.incarnation] = info.id;
  if (entry->second.head == offset{0} && info.head > offset{0})
    ++stored_count_;
  entry->second = std::move(info);
}

void stream_table::inherit_unwritten(const stream_table& older) {
  for (const auto& [id, info] : older.by_id_) {
    const auto* latest = newest(info.name);
    const auto is_next = !latest || latest->incarnation < info.incarnation;
    if (info.head == offset{0} && is_next && !by_id_.contains(id))
      put(info);
  }
  next_id_ = std::max(next_id_, older.next_id_);
}

} // namespace tidemark
