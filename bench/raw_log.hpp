#pragma once

#include <filesystem>
#include <string_view>

namespace tidemark::bench {

/// The limit that a log is measured against: bytes appended to one file, then fdatasync.
class raw_log {
public:
  /// Throws std::system_error.
  explicit raw_log(const std::filesystem::path& file);
  ~raw_log();
  raw_log(const raw_log&) = delete;
  raw_log& operator=(const raw_log&) = delete;

  /// Returns once the bytes are durable. Throws std::system_error.
  void append(std::string_view bytes);

private:
  int fd_;
};

} // namespace tidemark::bench
