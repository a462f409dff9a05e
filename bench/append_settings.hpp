#pragma once

#include "storage/rocks_log.hpp"

#include <filesystem>
#include <vector>

namespace tidemark::bench {

/// How many streams append, and how many appends of one event each has under way.
struct append_load {
  std::size_t streams = 1;
  std::size_t depth = 1;

  [[nodiscard]] std::size_t in_flight() const { return streams * depth; }
};

/// What the benchmarks of appends take on their command line.
struct append_settings {
  double seconds = 3;      ///< for each measured thing
  std::size_t bytes = 200; ///< of an event's data
  std::filesystem::path directory = std::filesystem::temp_directory_path();
  durability when_done = durability::sync;
  std::vector<append_load> loads;

  /// `{"text":"xxx…"}` of `bytes` bytes.
  [[nodiscard]] std::string event_data() const;
};

/// `loads` are those to measure unless --streams and --depth name one.
append_settings parse_append_settings(int argc, char** argv, std::vector<append_load> loads);

} // namespace tidemark::bench
