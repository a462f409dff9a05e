#pragma once

#include <cstdint>

namespace tidemark {

/// Raises the limit of open files to the hard limit; returns what it is then.
std::uint64_t raise_open_files();

/// Open files that the server needs for `connections` clients and `agents` processes: a connection
/// takes one, an agent (or a shell) four, the database up to 512.
std::uint64_t needed_open_files(std::uint64_t connections, std::uint64_t agents);

} // namespace tidemark
