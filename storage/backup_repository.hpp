#pragma once

#include "storage/backup_manifest.hpp"
#include "storage/hash_chain.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// A directory of backups (decision 027):
/// - `objects/<sha256>`: the content of every file that any of them holds, once,
/// - `backups/<time>.json`: their manifests, each written when all its objects are durable. So whatever a
///   crash interrupts, a manifest that is there is whole.
///
/// An object is written under another name until it is complete. One writer at a time.
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

  /// Reads every object of a backup: what is wrong with them, a line each. Errors: `io`.
  [[nodiscard]] std::vector<std::string> damage(const backup_manifest& manifest) const;

  /// Makes `into`, which is a new directory, the log that the backup holds, by links to the objects: to be
  /// read only. Errors: `io`, `full`.
  expected<void> link(const backup_manifest& manifest, const std::filesystem::path& into) const;

  /// Restores a backup into a directory that is missing or empty. Until it is done, no server takes the
  /// directory for a log; at its first start on it the log and its streams begin new epochs.
  /// Errors: `conflict` (not empty), `corrupt` (an object is damaged), `io`, `full`.
  expected<void> restore(const backup_manifest& manifest, const std::filesystem::path& into) const;

private:
  explicit backup_repository(std::filesystem::path directory);
  expected<void> copy(const backup_file& file, const std::filesystem::path& to) const;

  std::filesystem::path directory_;
};

/// A file that is being written and not there yet. Given up unless it is kept.
class unfinished_file {
public:
  /// Beside `file`, as `<file>.part`.
  static expected<unfinished_file> create(const std::filesystem::path& file);
  unfinished_file(unfinished_file&& other) noexcept;
  unfinished_file& operator=(unfinished_file&&) = delete;
  ~unfinished_file();

  /// Errors: `io`, `full`.
  expected<void> write(std::string_view piece);
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Syncs it and gives it its name, if it holds what it must. The name is durable once the directory is
  /// synced. Errors: `corrupt` (other content), `io`, `full`.
  expected<void> keep(const backup_file& as);

private:
  unfinished_file(std::filesystem::path file, int descriptor);

  std::filesystem::path file_;
  int descriptor_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<running_sha256> hasher_;
};

} // namespace tidemark
