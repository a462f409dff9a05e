#pragma once

#include "agents/event_sink.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace tidemark {

/// Claude Code's background tasks: shells, subagents and workflows that may outlive a turn.
class claude_tasks {
public:
  /// One `system` line about tasks. False if the subtype is not about them.
  bool on_system(std::string_view subtype, const json& line, event_sink& out);
  /// The process is gone, and its tasks with it.
  void clear() { open_.clear(); }
  [[nodiscard]] std::size_t open() const { return open_.size(); }

private:
  void end(const json& line, const std::string& status, event_sink& out);

  std::set<std::string, std::less<>> open_; ///< task ids
};

} // namespace tidemark
