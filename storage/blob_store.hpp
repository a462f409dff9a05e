#pragma once

#include "base/error.hpp"
#include "storage/record_codec.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tidemark {

/// Long raw lines as files named after their SHA-256, beside the database: `ab/abcdef…`.
///
/// A file is synced before the batch that refers to it is written, so a stored event never lacks
/// it. One that was written for a batch that failed stays behind and does no harm. Reads from any
/// thread; `put` and `remove` by one thread at a time.
class blob_store {
public:
  explicit blob_store(std::filesystem::path directory);

  /// Returns once the content is durable. Errors: `full`, `io`.
  expected<records::blob_ref> put(std::string_view content);
  /// Errors: `corrupt` (missing, or not what its name says), `io`.
  [[nodiscard]] expected<std::string> get(const records::blob_ref& ref) const;

  /// Removes the content, which nothing may refer to any more. That it is not there is no error.
  void remove(const records::blob_ref& ref);

  [[nodiscard]] std::uint64_t bytes_on_disk() const noexcept { return bytes_; }

private:
  [[nodiscard]] std::filesystem::path path_of(const digest& hash) const;

  std::filesystem::path directory_;
  std::atomic<std::uint64_t> bytes_ = 0;
};

} // namespace tidemark
