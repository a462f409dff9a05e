#pragma once

#include "storage/rocks_log.hpp"

#include <catch2/catch.hpp>
#include <rocksdb/db.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tidemark::testing {

/// A directory that is gone after the test.
class temporary_directory {
public:
  temporary_directory() {
    auto pattern = (std::filesystem::temp_directory_path() / "tidemark-storage-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      throw std::runtime_error("cannot create a temporary directory");
    path_ = pattern;
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

inline rocks_log_options options_for(const std::filesystem::path& directory) {
  rocks_log_options options;
  options.directory = directory;
  options.min_free_bytes = 0;
  return options;
}

inline std::unique_ptr<event_log> open_log(rocks_log_options options) {
  auto log = open_rocks_log(std::move(options));
  if (!log)
    throw std::runtime_error(log.error().describe());
  return std::move(*log);
}

inline std::unique_ptr<event_log> open_log(const std::filesystem::path& directory) {
  return open_log(options_for(directory));
}

/// Why the log does not open.
inline error refusal_to_open(rocks_log_options options) {
  auto log = open_rocks_log(std::move(options));
  if (log)
    throw std::runtime_error("the log opened");
  return log.error();
}

inline new_event event_of(std::string data, std::string raw = {}) {
  return {"item.delta", "turn-1", timestamp{1'764'435'909'042'000'000}, std::move(data),
          raw.empty() ? nullptr : std::make_shared<const std::string>(std::move(raw))};
}

inline append_request request_for(const stream_info& stream, std::vector<new_event> events) {
  return {stream.id, stream.incarnation, stream.head, std::move(events), {}, false};
}

inline append_result append(event_log& log, const append_request& request) {
  return log.commit(std::span{&request, 1})[0];
}

/// Appends one event to the newest incarnation of `name`.
inline append_result append(event_log& log, std::string_view name, std::string data,
                            std::string raw = {}) {
  return append(log, request_for(*log.acquire(name), {event_of(std::move(data), std::move(raw))}));
}

inline std::vector<std::string> data_of(const event_log& log, stream_id stream,
                                        offset from = offset{1},
                                        read_limits limits = {SIZE_MAX, SIZE_MAX, false}) {
  std::vector<std::string> found;
  auto next = from;
  const auto done = log.read(stream, from, limits, [&](const event_view& e) {
    if (e.at != next)
      throw std::runtime_error(fmt::format("offset {} follows {}", e.at.value, next.value));
    next = next.next();
    found.emplace_back(e.data);
    return true;
  });
  if (!done)
    throw std::runtime_error(done.error().describe());
  return found;
}

/// A seed from TIDEMARK_SEED, else a random one; printed with every failure.
inline std::uint32_t random_seed() {
  if (const char* given = std::getenv("TIDEMARK_SEED"))
    return static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
  return std::random_device{}();
}

inline std::string slurp(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline void overwrite(const std::filesystem::path& file, const std::string& content) {
  std::ofstream{file, std::ios::binary | std::ios::trunc} << content;
}

/// The database without our log around it, to do what nobody should.
inline void tamper(const std::filesystem::path& directory, const std::string& family,
                   const std::function<void(rocksdb::DB&, rocksdb::ColumnFamilyHandle*)>& change) {
  std::vector<std::string> names;
  REQUIRE(rocksdb::DB::ListColumnFamilies({}, directory, &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const auto& name : names)
    families.emplace_back(name, rocksdb::ColumnFamilyOptions{});
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  REQUIRE(rocksdb::DB::Open({}, directory, families, &handles, &opened).ok());
  const std::unique_ptr<rocksdb::DB> database{opened};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == family)
      change(*database, handles[i]);
  for (auto* handle : handles)
    database->DestroyColumnFamilyHandle(handle);
}

} // namespace tidemark::testing
