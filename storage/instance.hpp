#pragma once

#include "base/error.hpp"

#include <filesystem>
#include <string>

namespace tidemark {

/// The random UUID of a data directory, kept in its file `instance` and made on first use. It marks
/// the processes that a server starts, so that its successor on the same directory, and no other
/// server, finds those that were left behind. Errors: `io`, `full`, `corrupt` (not a UUID).
expected<std::string> load_or_create_instance(const std::filesystem::path& directory);

} // namespace tidemark
