#pragma once

#include "storage/backup_manifest.hpp"
#include "storage/hash_chain.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

// One whole backup in one file, `<name>.tar.zst` (decision 034): a tar archive in zstd with the layout of a
// directory of backups, so that `tar --zstd -xf` makes one of it. First comes `backups/<time>.json`, then
// `objects/<sha256>` for each content once, and nothing else.
namespace tidemark {

/// A list of files that is larger is not read: what one of a hundred thousand files takes, several times.
constexpr std::size_t most_archived_manifest_bytes = 64 << 20;

/// Writes an archive under another name until it is complete. Given up unless it is finished.
class backup_archive_writer {
public:
  /// Errors: `conflict` (the file is there and `overwrite` is not wanted, or somebody writes it now),
  /// `unavailable` (no libarchive), `io`, `full`.
  static expected<backup_archive_writer> create(const std::filesystem::path& file, bool overwrite);
  backup_archive_writer(backup_archive_writer&& other) noexcept;
  backup_archive_writer& operator=(backup_archive_writer&&) = delete;
  ~backup_archive_writer();

  /// The manifest comes first, then each object: `begin_object`, its bytes, `end_object`.
  /// Errors of all: `io`, `full`; of `end_object` also `corrupt`, if it was not the content that was said.
  expected<void> begin(const backup_manifest& manifest);
  expected<void> begin_object(const backup_file& file);
  expected<void> write(std::string_view piece);
  expected<void> end_object();

  /// Makes it durable under its name. Errors: `conflict` (it came to be meanwhile), `io`, `full`.
  expected<void> finish();
  /// Of the archive so far.
  [[nodiscard]] std::uint64_t bytes() const;

private:
  struct state;
  explicit backup_archive_writer(std::unique_ptr<state> made);

  std::unique_ptr<state> state_;
};

/// What is read in an archive. All may fail, which ends the reading.
struct backup_archive_visitor {
  std::function<expected<void>(const backup_manifest&)> begin;
  /// A content; `file` is the first that has it.
  std::function<expected<void>(const backup_file& file)> begin_object;
  std::function<expected<void>(std::string_view piece)> piece;
  /// The content was whole and right.
  std::function<expected<void>()> end_object;
};

/// Reads an archive from front to back. What it takes is bounded by the manifest, which is checked first
/// (storage/backup_manifest.hpp): an archive with anything else in it is refused at the first such entry,
/// before its bytes are read. Errors: `not_found`, `corrupt` (damaged, cut short, or no archive of a backup),
/// `unavailable` (no libarchive), `io`, those of the visitor.
expected<backup_manifest> read_backup_archive(const std::filesystem::path& file,
                                              const backup_archive_visitor& visit);

} // namespace tidemark
