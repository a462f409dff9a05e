#pragma once

#include <rocksdb/file_system.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tidemark::testing {

/// What a database asks of a disk, as far as it changes something.
enum class disk_call { append, sync, create, rename, remove, sync_directory };
constexpr std::size_t disk_calls = 6;

/// A failure to come: of the `nth` call of a kind from now on, and of those after it while `times`
/// lasts.
struct disk_fault {
  disk_call at = disk_call::append;
  int nth = 1;
  int times = 1;
  bool no_space = false;    ///< ENOSPC rather than EIO
  bool writes_part = false; ///< an append leaves some of its bytes behind
};

/// What a power loss leaves of what was written and not synced.
enum class remains {
  nothing,        ///< not a byte, and no name that its directory was not synced for
  some,           ///< of each file some first bytes, of the names the first few
  some_and_zeros, ///< the same, but of write-ahead logs any pages, with zeros in place of the others
};

/// A file system over the real one that fails when told to, and knows what of a directory would be
/// there after the power had gone. One flat directory. Thread-safe.
///
/// The model: bytes are durable once their file was synced without an error, names once their
/// directory was. Names that are not become so in their order; bytes of different files in any.
/// After a failed sync the bytes that it was for are lost, also if a later one succeeds, as Linux
/// has it (a failed write-back marks the pages clean).
class unreliable_disk final : public rocksdb::FileSystemWrapper {
public:
  /// `directory` is durable as it is; `attic` keeps files for as long as a power loss may bring
  /// them back, on the same real file system.
  unreliable_disk(std::filesystem::path directory, std::filesystem::path attic, std::uint64_t seed);

  const char* Name() const override { return "unreliable_disk"; }

  void fail(const disk_fault& how);
  /// No fault is to come any more. Power that has gone stays so.
  void heal();
  /// How many faults struck.
  [[nodiscard]] int struck() const;
  /// The power goes with the `calls`th call from now on: that and all later ones fail and change
  /// nothing.
  void lose_power_after(int calls);
  [[nodiscard]] bool has_power() const;
  /// Writes what the directory holds after the power has gone into `target`, which must not exist.
  void restart_as(const std::filesystem::path& target, remains what);

  using IOOptions = rocksdb::IOOptions;
  using IODebugContext = rocksdb::IODebugContext;
  using IOStatus = rocksdb::IOStatus;
  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                           IODebugContext* debug) override;
  IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                              IODebugContext* debug) override;
  IOStatus NewDirectory(const std::string& name, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* result,
                        IODebugContext* debug) override;
  IOStatus DeleteFile(const std::string& name, const IOOptions& options,
                      IODebugContext* debug) override;
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override;

private:
  class writable;
  class directory_handle;
  struct inode {
    std::filesystem::path kept; ///< another name of the real file, in the attic
    std::uint64_t size = 0;
    std::uint64_t synced = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> lost = {}; ///< by failed syncs
  };
  using names = std::map<std::string, std::shared_ptr<inode>>;
  /// A name that came to stand for a file, or for none.
  struct change {
    std::string name;
    std::shared_ptr<inode> file;
  };

  std::shared_ptr<inode> keep(const std::filesystem::path& real, std::uint64_t size);
  void rebind(const std::string& name, std::shared_ptr<inode> file);
  /// Counts a call. Why it fails; nothing if it does not. Needs the lock.
  std::optional<IOStatus> refuse(disk_call what);
  std::string content_after_loss(const inode& file, remains what);

  const std::filesystem::path directory_;
  const std::filesystem::path attic_;

  mutable std::mutex mutex_; // guards everything below
  std::mt19937_64 dice_;
  std::array<std::vector<disk_fault>, disk_calls> faults_;
  int struck_ = 0;
  bool part_ = false; ///< the fault that struck last writes a part
  std::optional<int> calls_left_;
  bool has_power_ = true;
  std::size_t files_ = 0;
  names now_;
  names durable_;
  std::vector<change> changes_; ///< since the directory was synced
  std::set<std::string> ours_;  ///< every name that was ever used through this file system
};

} // namespace tidemark::testing
