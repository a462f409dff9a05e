#pragma once

#include "base/error.hpp"

#include <string>

namespace tidemark {

/// Makes a workspace's directory below `root` if there is nothing of that name, and the root too.
/// Returns its path, the root's links resolved: the agent keeps its conversations by working
/// directory, so it must be the same path each time. Errors: `io`, `full`.
expected<std::string> make_workspace_directory(const std::string& root,
                                               const std::string& workspace);

/// Refuses what is not a directory itself: an agent can put a link in the place of its directory,
/// and its next task would run elsewhere. (An operator who wants a workspace elsewhere mounts it.)
/// Errors: `forbidden` for a link, `not_found` for what is missing or no directory.
expected<void> check_workspace_directory(const std::string& path);

/// Makes a directory, with its parents, that is nobody else's business: transcripts and credentials
/// are kept there. One that is there is closed to others; a link in its place is refused.
/// Errors: `io`, `full`.
expected<void> make_private_directory(const std::string& path);

} // namespace tidemark
