#pragma once

#include "storage/backup_manifest.hpp"
#include "storage/event_log.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

namespace tidemark {

/// Copies of a log that clients are fetching, in `backup-staging/` of its data directory (decision 027). A
/// copy shares the log's files by hard links: it costs no space but what the log itself no longer needs.
///
/// A copy is kept until it is released, until nobody has asked for it for `lifetime`, or until the next
/// start. Any thread; calls block on the disk.
class staged_backups {
public:
  struct settings {
    std::chrono::seconds lifetime = std::chrono::hours{1};
    std::size_t most = 4; ///< copies at a time
  };

  /// Removes what an earlier server has left. `directory` is that of the log, which outlives this.
  staged_backups(const event_log& log, const std::filesystem::path& directory, settings how);
  staged_backups(const event_log& log, const std::filesystem::path& directory)
    : staged_backups(log, directory, settings{}) {}
  /// Removes all copies.
  ~staged_backups();
  staged_backups(const staged_backups&) = delete;
  staged_backups& operator=(const staged_backups&) = delete;

  /// Copies the log as it is, and says what the copy holds. Hashes each file once: those of a database are
  /// never changed. Errors: `conflict` (too many copies), those of event_log::copy_to.
  expected<backup_manifest> make();

  /// Where a file of a copy is. Errors: `not_found`.
  expected<std::filesystem::path> file(std::string_view id, const digest& hash);

  /// Errors: `not_found`.
  expected<void> release(std::string_view id);

  /// Removes the copies that nobody has asked for.
  void expire();

  [[nodiscard]] std::size_t count() const;

private:
  using clock = std::chrono::steady_clock;
  struct copy {
    clock::time_point used;
    std::map<digest, std::string> names;
  };
  /// Name, size and time of the last change: what makes a file of the database the same one.
  using identity = std::tuple<std::string, std::uint64_t, std::int64_t>;

  expected<backup_manifest> describe(const std::string& id);
  expected<digest> hash_of(const std::filesystem::path& path, const std::string& name,
                           std::uint64_t bytes);
  void remove(const std::string& id);

  const event_log& log_;
  const std::filesystem::path directory_;
  const settings how_;
  std::mutex making_; // one copy after the other; guards hashes_
  std::map<identity, digest> hashes_;
  mutable std::mutex mutex_; // guards copies_
  std::map<std::string, copy, std::less<>> copies_;
};

} // namespace tidemark
