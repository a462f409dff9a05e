#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// The flag of the server that sets `rocks_log_options::accept_wal_loss`, for messages.
inline constexpr std::string_view accept_wal_loss_flag = "--log-accept-wal-loss";

/// RocksDB's write-ahead logs in `directory`, oldest first.
std::vector<std::filesystem::path> wal_files(const std::filesystem::path& directory);

/// Says where a write-ahead log is damaged in a way that RocksDB takes for a torn tail.
///
/// A damaged length field near the end of a file makes the record seem to reach beyond the end of
/// the file, just as a write cut short by a crash does, and RocksDB drops it with all that follows,
/// without a word. But after a real torn write nothing follows: if whole records do, or if the
/// record is whole under another length, synced data would be lost. Reads each file once.
std::optional<std::string> find_hidden_wal_damage(const std::filesystem::path& directory);

/// The same for the content of one file; the offset of the damage.
std::optional<std::size_t> find_hidden_damage(std::string_view wal);

/// Whether a write-ahead log is damaged, hidden or in a way that RocksDB reports itself: then going
/// on without it is a remedy. A torn tail is no damage. Reads each file once.
bool has_wal_damage(const std::filesystem::path& directory);

} // namespace tidemark
