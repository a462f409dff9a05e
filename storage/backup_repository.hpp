#pragma once

#include "storage/backup_manifest.hpp"
#include "storage/unfinished_file.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// What a backup is called: `2026-01-31T17:05:09.042Z` without what some file systems do not take.
std::string backup_name(timestamp time);

/// When all backups of a directory were last found whole.
struct verification {
  timestamp time;
  std::string newest; ///< the newest of them then
};

/// A directory of backups (decision 027):
/// - `objects/<sha256>`: the content of every file that any of them holds, once,
/// - `backups/<time>.json`: their manifests, each written when all its objects are durable. So whatever a
///   crash interrupts, a manifest that is there is whole.
///
/// - `lock` (storage/backup_lock.hpp) and `verified.json`, the date of the last verification.
///
/// An object is written under another name until it is complete. One writer at a time: whoever writes, or
/// needs the objects to stay, holds a `backup_lock`.
class backup_repository {
public:
  /// Errors: `not_found` (`create` is false and there is none), `io`, `full`.
  static expected<backup_repository> open(const std::filesystem::path& directory, bool create);

  [[nodiscard]] const std::filesystem::path& directory() const noexcept { return directory_; }
  [[nodiscard]] std::filesystem::path object(const digest& hash) const;
  /// Whether the content is there, as far as its size tells.
  [[nodiscard]] bool has(const backup_file& file) const;

  /// Their names, `20260131T170509.042Z` and so in the order of their times. Errors: `io`.
  [[nodiscard]] expected<std::vector<std::string>> list() const;
  /// Errors: `not_found`, `invalid_argument` (damaged), `io`.
  [[nodiscard]] expected<backup_manifest> read(const std::string& name) const;
  /// The newest that was begun not after `latest`; empty: the newest. Errors: `not_found`, those of `read`.
  [[nodiscard]] expected<backup_manifest> newest(std::optional<timestamp> latest) const;

  /// Makes a backup of what `manifest` names, whose objects are all there. Returns its name.
  expected<std::string> add(const backup_manifest& manifest);

  /// Reads every object of a backup: what is wrong with them, a line each; also what cannot be read.
  [[nodiscard]] std::vector<std::string> damage(const backup_manifest& manifest) const;

  /// The names of all backups that hold this content. Errors: `io`.
  [[nodiscard]] expected<std::vector<std::string>> backups_with(const digest& hash) const;

  /// Makes `into`, which is a new directory anywhere, the log that the backup holds, to be read only: by
  /// symbolic links, so that nothing of the objects changes, not even how often they are linked.
  /// Errors: `io`, `full`.
  expected<void> show(const backup_manifest& manifest, const std::filesystem::path& into) const;

  /// Writes down that all backups up to `newest` were found whole. Errors: `io`, `full`.
  expected<void> note_verified(timestamp when, const std::string& newest) const;
  /// Nothing if that never was, or cannot be read.
  [[nodiscard]] std::optional<verification> last_verified() const;

  /// Restores a backup into a directory that is missing or empty. Until it is done, no server takes the
  /// directory for a log; at its first start on it the log and its streams begin new epochs.
  /// Errors: `conflict` (not empty), `corrupt` (an object is damaged: which, and the backups that need
  /// it), `io`, `full`.
  expected<void> restore(const backup_manifest& manifest, const std::filesystem::path& into) const;

private:
  explicit backup_repository(std::filesystem::path directory);
  expected<void> copy(const backup_file& file, unfinished_file& out) const;
  [[nodiscard]] std::string without(const backup_file& file, std::string_view what) const;

  std::filesystem::path directory_;
};

} // namespace tidemark
