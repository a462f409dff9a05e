#pragma once

#include <optional>
#include <string>

namespace tidemark {

/// The whole content of a file, of /proc as well; nothing if it cannot be opened or read, and then
/// errno says why. Never throws for it, as `std::istreambuf_iterator` does when a read fails: the
/// files of a process that ends between the two, a directory, a bad disk.
std::optional<std::string> read_file(const std::string& path);

} // namespace tidemark
