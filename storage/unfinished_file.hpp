#pragma once

#include "storage/backup_manifest.hpp"
#include "storage/hash_chain.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace tidemark {

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
