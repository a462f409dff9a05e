#pragma once

#include <cstdint>

namespace tidemark {

/// Raises the limit of open files to the hard limit; returns what it is then.
std::uint64_t raise_open_files();

/// Keeps other processes of the same user, agents above all, from reading this one's memory,
/// environment and open files through ptrace and /proc (PR_SET_DUMPABLE of prctl(2)). The price is
/// that the kernel writes no core file of it. Root reads everything all the same.
void keep_memory_private();

/// Open files that the server needs for `connections` clients and `agents` processes: a connection
/// takes one, an agent (or a shell) four, the database up to 512.
std::uint64_t needed_open_files(std::uint64_t connections, std::uint64_t agents);

} // namespace tidemark
