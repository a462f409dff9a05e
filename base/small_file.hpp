#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <optional>
#include <string>

#include <sys/types.h>

namespace tidemark {

/// A file that somebody else may have put in its place: a pipe, a device, a link to either.
struct small_file {
  enum class state { read, missing, unreadable, unfit } is = state::missing;
  std::string text; ///< if it was read
  mode_t mode = 0;  ///< if it could be opened
};

/// Reads a regular file of at most `max_bytes`; whatever else stands there is `unfit`. Opened before it
/// is looked at, and without waiting. After `unreadable` errno says why.
small_file read_small_file(const std::string& path, std::size_t max_bytes);

/// The text of a settings file, nothing if there is none; for every such file that an agent or
/// another user may replace. Errors, which name file and reason: `invalid_argument` for what is no
/// regular file of at most 1 MiB, `io`.
expected<std::optional<std::string>> read_settings_file(const std::string& path);

} // namespace tidemark
