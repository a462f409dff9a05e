#pragma once

#include "base/error.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace tidemark {

/// The right to use a log's directory, and what the directory is known to hold.
///
/// Beside the database's own files it holds
/// - `tidemark.lock`: locked while a server runs; says which process has it,
/// - `tidemark.format`: the format's version, whether the database was ever complete, whether an event
///   was ever acknowledged, and whether it is being restored, or was since it was last opened. With it a directory that lost files, or a database that lost
///   all its events, is never taken for a new one,
/// - `blobs/` (storage/blob_store.hpp) and `instance` (storage/instance.hpp).
class data_directory {
public:
  static constexpr int format_version = 1;

  /// Creates the directory if it is missing and takes the lock; `read_only` does neither.
  /// Errors: `locked`, `newer_format`, `corrupt` (files missing or foreign), `io`, `full`.
  static expected<data_directory> open(std::filesystem::path path, bool read_only,
                                       bool accept_wal_loss);

  /// The process that has the directory locked, as it wrote itself down ("" if it could not);
  /// nothing if no process has. Creates nothing.
  static std::optional<std::string> holder(const std::filesystem::path& path);

  data_directory(data_directory&& other) noexcept;
  data_directory& operator=(data_directory&&) = delete;
  ~data_directory();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// No database was ever complete here, so nothing was ever acknowledged: one may be created.
  [[nodiscard]] bool is_new() const noexcept { return is_new_; }
  /// Events were acknowledged here before it was opened: a database without any has lost them.
  [[nodiscard]] bool has_commits() const noexcept { return has_commits_; }
  /// What it holds was restored from a backup and has not been opened to be written since.
  [[nodiscard]] bool is_restored() const noexcept { return is_restored_; }
  /// The directory that was locked is still what its path leads to: nobody removed or moved it.
  [[nodiscard]] bool is_in_place() const;
  /// Says that the database is complete; from here on it must never be found missing.
  static expected<void> mark_complete(const std::filesystem::path& path);
  /// Says that it holds events; from here on it must never be found empty.
  static expected<void> mark_committed(const std::filesystem::path& path);
  /// Says that a restore into the directory has begun: it cannot be opened until that is done.
  static expected<void> mark_restoring(const std::filesystem::path& path);
  /// Says that all of a log, with events or without, was restored.
  static expected<void> mark_restored(const std::filesystem::path& path, bool has_commits);

private:
  explicit data_directory(std::filesystem::path path) : path_(std::move(path)) {}
  expected<void> lock();
  expected<void> inspect();
  expected<void> require_files(bool accept_wal_loss) const;

  std::filesystem::path path_;
  int lock_ = -1;
  bool is_new_ = false;
  bool has_commits_ = false;
  bool is_restored_ = false;
};

} // namespace tidemark
