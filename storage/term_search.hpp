#pragma once

#include "storage/event_log.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace tidemark {

/// The positions at which one term stands, walked in one direction.
class posting_list {
public:
  posting_list() = default;
  posting_list(const posting_list&) = delete;
  posting_list& operator=(const posting_list&) = delete;
  virtual ~posting_list() = default;

  /// The nearest position at `from` or beyond it in the list's direction; nothing if there is none.
  virtual expected<std::optional<position>> seek(position from) = 0;
};

/// Finds the positions that stand in at least one list of every group, by leaping: each group is asked
/// for its nearest position from the farthest that another has named. So the cost follows the shortest
/// group. Pure but for what the lists do; not thread-safe.
class term_search {
public:
  /// Groups without lists match nothing.
  term_search(std::vector<std::vector<std::unique_ptr<posting_list>>> groups, direction way);

  /// Where the search stands after some steps.
  struct found {
    std::optional<position> match; ///< the nearest match, if it was reached
    position next;                 ///< where to go on
    bool exhausted = false;        ///< there is no match from `from` on
  };

  /// The nearest match at `from` or beyond it, after at most `max_steps` leaps.
  expected<found> next(position from, std::size_t max_steps);

private:
  struct cursor {
    std::unique_ptr<posting_list> list;
    std::optional<position> at; ///< its nearest position from the last question on
    bool asked = false;
  };

  [[nodiscard]] bool before(position a, position b) const {
    return way_ == direction::oldest_first ? a < b : b < a;
  }
  expected<std::optional<position>> nearest(std::vector<cursor>& group, position from);

  std::vector<std::vector<cursor>> groups_;
  direction way_;
};

} // namespace tidemark
