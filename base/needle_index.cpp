#include "base/needle_index.hpp"

#include <algorithm>
#include <cstring>

namespace tidemark {

/// The needles that begin with the text of one node: neighbours, because needles are sorted.
struct needle_index::group {
  std::size_t begin;
  std::size_t end;
  state parent;
};

needle_index::needle_index(std::vector<std::string> needles) {
  std::ranges::sort(needles);
  // Not std::ranges::unique: clang 14, which builds the fuzz targets, cannot compile g++ 12's.
  needles.erase(std::unique(needles.begin(), needles.end()), needles.end());
  std::erase(needles, "");
  for (const auto& needle : needles)
    longest_ = std::max(longest_, needle.size());
  nodes_.emplace_back();
  bytes_.push_back('\0');
  std::vector<group> groups{{0, needles.size(), start}};
  for (state at = 0; at < nodes_.size(); ++at)
    add_children(needles, groups, at);
  link(groups);
}

/// Breadth first: the children of a node follow each other, and shorter texts come before longer ones.
void needle_index::add_children(const std::vector<std::string>& needles, std::vector<group>& groups,
                                state of) {
  const auto depth = nodes_[of].depth;
  auto [at, end, parent] = groups[of];
  if (at < end && needles[at].size() == depth)
    nodes_[of].match = depth, ++at;
  nodes_[of].first_child = static_cast<state>(nodes_.size());
  while (at < end) {
    const auto byte = needles[at][depth];
    const auto begin = at;
    while (at < end && needles[at][depth] == byte)
      ++at;
    groups.push_back({begin, at, of});
    nodes_.emplace_back().depth = depth + 1;
    bytes_.push_back(byte);
    ++nodes_[of].children;
  }
}

void needle_index::link(const std::vector<group>& groups) {
  for (state at = 1; at < nodes_.size(); ++at) {
    auto& here = nodes_[at];
    if (here.depth == 1)
      first_[static_cast<unsigned char>(bytes_[at])] = at;
    else
      here.shorter = step(nodes_[groups[at].parent].shorter, bytes_[at]);
    here.match = std::max(here.match, nodes_[here.shorter].match);
  }
}

needle_index::state needle_index::child(state of, char byte) const {
  if (of == start)
    return first_[static_cast<unsigned char>(byte)];
  const auto& here = nodes_[of];
  const auto* bytes = bytes_.data() + here.first_child;
  if (here.children <= 1)
    return here.children == 1 && *bytes == byte ? here.first_child : start;
  const auto* found = static_cast<const char*>(std::memchr(bytes, byte, here.children));
  return found == nullptr ? start : here.first_child + static_cast<state>(found - bytes);
}

needle_index::state needle_index::step(state from, char byte) const {
  while (true) {
    const auto next = child(from, byte);
    if (next != start || from == start)
      return next;
    from = nodes_[from].shorter;
  }
}

std::size_t needle_index::skip(std::string_view text, std::size_t at) const {
  while (at < text.size() && first_[static_cast<unsigned char>(text[at])] == start)
    ++at;
  return at;
}

std::size_t needle_index::begun(state at) const {
  while (at != start && nodes_[at].children == 0)
    at = nodes_[at].shorter;
  return nodes_[at].depth;
}

} // namespace tidemark
