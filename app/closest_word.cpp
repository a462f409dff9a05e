#include "app/closest_word.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace tidemark {
namespace {

/// Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto cost = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, cost}));
    }
  }
  return row.back();
}

} // namespace

std::string closest_word(std::string_view word, std::span<const std::string> among,
                         std::size_t most_edits) {
  std::string best;
  for (const auto& each : among)
    if (const auto edits = distance(each, word); edits <= most_edits) {
      best = each;
      if (edits == 0)
        break;
      most_edits = edits - 1;
    }
  return best;
}

} // namespace tidemark
