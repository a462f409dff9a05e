#pragma once

#include "base/json.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// A file that is not after a turn what it was before.
struct file_change {
  std::string path; ///< from the workspace's directory; valid UTF-8
  enum class kind { created, changed, deleted } what = kind::changed;
  std::optional<std::uint64_t> added;   ///< lines; empty: no text
  std::optional<std::uint64_t> removed; ///< likewise
};

/// Reads what the script of actors/turn_files.cpp prints: for each repository `>` and its directory, then
/// the output of `git diff-tree --raw --numstat -z`; everything ends with a zero byte. What it cannot
/// read it leaves out. In the order of paths.
std::vector<file_change> parse_changes(std::string_view printed);

/// The event `turn.changes`: `{"files":[{"path","change","added","removed"}…],"count"}`, of which `files`
/// holds the first `most`.
json to_json(const std::vector<file_change>& changes, std::size_t most);

} // namespace tidemark
