#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
class Env;
class Status;
} // namespace rocksdb

namespace tidemark {

/// The column families; see docs/architecture.md, "The log on RocksDB". Few, because an idle one
/// pins write-ahead logs.
enum class family : std::size_t {
  events,  ///< (stream id, offset) -> event
  commits, ///< position of a commit's first event -> its time and what it wrote
  streams, ///< (name, epoch) -> id, head, hash, trimmed
  turns,
  meta,
  terms ///< (term, position) -> nothing: what search finds events by
};

/// An open RocksDB with the families and options that the log needs. Private to storage/.
/// Thread-safe as RocksDB is; closed by the destructor.
class rocks_database {
public:
  struct settings {
    std::filesystem::path directory;
    std::uint64_t max_wal_bytes = 0;
    bool create = false;
    bool read_only = false;
    bool accept_wal_loss = false;
    rocksdb::Env* below = nullptr; ///< the operating system; null for the real one. Outlives it
  };

  /// Errors: `corrupt`, `full`, `io`.
  static expected<std::unique_ptr<rocks_database>> open(const settings& how);

  ~rocks_database();
  rocks_database(const rocks_database&) = delete;
  rocks_database& operator=(const rocks_database&) = delete;

  [[nodiscard]] rocksdb::DB& db() const noexcept { return *db_; }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle(family which) const;

  /// What flushes and compactions failed with; empty if nothing keeps RocksDB from writing.
  [[nodiscard]] std::string background_problem() const;

private:
  class fault_listener;
  rocks_database() = default;
  rocksdb::Status open_with(const settings& how, bool point_in_time);

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_; // by family, the default one last
  std::shared_ptr<fault_listener> faults_;
};

/// The status as an error: `corrupt`, `full` (no space) or `io`; `doing` says what was tried.
error to_error(const rocksdb::Status& status, std::string_view doing);

} // namespace tidemark
