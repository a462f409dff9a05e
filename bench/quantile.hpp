#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tidemark::bench {

/// The value below which this part (0 to 1) of the values lies; 0 if there is none.
inline double quantile(std::vector<double> values, double part) {
  if (values.empty())
    return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

} // namespace tidemark::bench
