#pragma once

#include "base/error.hpp"

#include <filesystem>

namespace tidemark {

/// The right to use a directory of backups in one way, between processes: locks on its file `lock`, which the
/// kernel drops when their holder dies.
class backup_lock {
public:
  enum class use {
    add,   ///< a backup: one at a time
    read,  ///< a restore or verification: any number, also while a backup is made
    remove ///< pruning: alone
  };

  /// Does not wait. `read` creates nothing: a directory without the file, which older versions have left, or
  /// one that cannot be written, is not locked. Errors: `conflict` (and which process has it), `io`, `full`.
  static expected<backup_lock> take(const std::filesystem::path& directory, use how);

  backup_lock(backup_lock&& other) noexcept;
  backup_lock& operator=(backup_lock&&) = delete;
  ~backup_lock();

private:
  explicit backup_lock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

} // namespace tidemark
