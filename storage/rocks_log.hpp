#pragma once

#include "storage/event_log.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

namespace tidemark {

/// When a commit counts as done.
enum class durability {
  sync, ///< after fdatasync of the write-ahead log: survives power loss (default)
  os    ///< after write(2): survives SIGKILL of the server, not power loss
};

/// What a commit cost; handed to `rocks_log_options::on_commit` after each one.
struct commit_figures {
  std::size_t requests = 0;
  std::size_t events = 0;
  std::size_t bytes = 0;
  std::chrono::nanoseconds write{}; ///< the whole database write, sync included
  std::chrono::nanoseconds sync{};  ///< the WAL sync alone
};

struct rocks_log_options {
  std::filesystem::path directory; ///< created if missing, with mode 0700
  durability when_done = durability::sync;
  /// Appends are refused as `full` while the file system has less than this left.
  std::uint64_t min_free_bytes = 64ULL << 20;
  /// Write-ahead log size that forces a flush: bounds the time of a restart.
  std::uint64_t max_wal_bytes = 64ULL << 20;
  /// Raw lines over this many bytes go to content-addressed files beside the database.
  std::size_t blob_threshold = 256 << 10;
  /// Open although the write-ahead log is damaged before its tail, missing or emptied, and log what
  /// was lost.
  bool accept_wal_loss = false;
  bool read_only = false; ///< takes no lock: what another process writes meanwhile may look damaged
  std::function<void(const commit_figures&)> on_commit = {};
};

/// Opens the log on RocksDB. Errors, each with a message that names the remedy:
/// - `locked`: another process has the directory; the message names its pid if it is known,
/// - `newer_format`: written by a newer Tidemark,
/// - `corrupt`: damaged before the tail of the write-ahead log, a file missing, a directory with
///   foreign content, no event although some were acknowledged; never opens as if it were empty,
/// - `full`, `io`.
/// A torn tail of the write-ahead log, as a SIGKILL or power loss leaves it, is not an error.
expected<std::unique_ptr<event_log>> open_rocks_log(rocks_log_options options);

} // namespace tidemark
