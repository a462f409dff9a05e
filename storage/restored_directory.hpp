#pragma once

#include "storage/unfinished_file.hpp"

#include <filesystem>
#include <set>
#include <string>

namespace tidemark {

/// A data directory that a backup is being restored into. Until `finish` no server takes it for a log; at its
/// first start after that the log and its streams begin new epochs (decision 027).
class restored_directory {
public:
  /// Takes a directory that is missing or empty. Errors: `conflict` (not empty), `io`, `full`.
  static expected<restored_directory> begin(const std::filesystem::path& into);

  /// A file to be written, by its name in a manifest. Errors: `io`, `full`.
  expected<unfinished_file> create(const std::string& name);
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return into_ / name; }

  /// All files of the manifest are there: makes them durable and the directory a log. Errors: `io`, `full`.
  expected<void> finish(const backup_manifest& manifest);

private:
  explicit restored_directory(std::filesystem::path into);

  std::filesystem::path into_;
  std::set<std::filesystem::path> directories_; // that hold new names
};

} // namespace tidemark
