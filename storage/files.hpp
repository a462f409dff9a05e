#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::files {

/// Creates a directory and its parents with mode 0700 if it is missing. Errors: `io`, `full`.
expected<void> make_directory(const std::filesystem::path& directory);

/// Writes a file so that after a crash it is there whole or not at all: temporary file, fsync,
/// rename, fsync of the directory. Mode 0600. Errors: `io`, `full`.
expected<void> write_durably(const std::filesystem::path& file, std::string_view content);

/// Makes renames and new names in `directory` survive power loss. Errors: `io`.
expected<void> sync_directory(const std::filesystem::path& directory);

/// The whole file, or nothing if there is none. Errors: `io`; `corrupt` if it holds more than
/// `most_bytes`, or is no regular file, which is never waited for.
expected<std::optional<std::string>> read_whole(const std::filesystem::path& file,
                                                std::size_t most_bytes);

/// Called once a piece, in order. Return false to stop early.
using piece_visitor = std::function<bool(std::string_view piece)>;

/// Visits a file in pieces of `piece_bytes`, the last one shorter, without ever holding more than one.
/// A file that is missing has none. Errors: `io`, `corrupt` if it is no regular file.
expected<void> read_pieces(const std::filesystem::path& file, std::size_t piece_bytes,
                           const piece_visitor& visit);

/// Space of the file system that holds a path.
struct space {
  std::uint64_t free = 0; ///< bytes that an unprivileged process may still use
  std::uint64_t capacity = 0;
  std::uint64_t free_files = 0; ///< files that may still be made
  std::uint64_t most_files = 0; ///< 0: the file system does not count them
};
expected<space> space_of(const std::filesystem::path& path);

} // namespace tidemark::files
