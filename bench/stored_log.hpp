#pragma once

#include <cstdint>
#include <filesystem>

namespace tidemark::bench {

/// Writes a log as a server leaves it: `workspaces` streams with `events` events in all, each
/// stream with its summary and the records of its turns. Throws std::runtime_error.
void write_log(const std::filesystem::path& directory, std::uint64_t workspaces,
               std::uint64_t events);

/// Goes on writing until the write-ahead log is nearly as large as the default settings allow, then
/// kills this very process with SIGKILL, as a crash would. Call it in a process of its own.
[[noreturn]] void grow_wal_and_die(const std::filesystem::path& directory);

} // namespace tidemark::bench
