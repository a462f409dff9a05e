#pragma once

#include "replay/retention.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tidemark {

/// What goes so that all workspaces together keep to a limit.
struct total_plan {
  /// By the place of the workspace among those that were given; one removal a workspace.
  std::vector<std::pair<std::size_t, removal_plan>> removals;
  std::uint64_t bytes = 0;  ///< of all workspaces' events, as they are before it
  std::uint64_t beyond = 0; ///< how much of it stays beyond the limit, because nothing more may go
};

/// Takes the turn that ended first, of whichever workspace, then the next, until what is left fits into
/// `limit` bytes of events: how full a workspace is plays no part, nor do its rules (decision 035). Never
/// touches what trim_walk does not, and stops at the first removal that suffices. Deterministic;
/// O(n log m) for n turns that go, of m workspaces. Pure: the outlines must outlive the call only.
total_plan plan_total(const std::vector<const stream_outline*>& of, std::uint64_t limit);

} // namespace tidemark
