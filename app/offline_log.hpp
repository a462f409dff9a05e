#pragma once

#include "base/error.hpp"
#include "storage/rocks_log.hpp"

#include <filesystem>
#include <memory>

namespace tidemark {

/// Nobody writes this directory's log now. Reading takes no lock, and files that a server removes meanwhile
/// would look like damage: look again after reading what seems damaged. Errors: `locked`.
expected<void> no_server_on(const std::filesystem::path& directory);

/// There is a directory, and it looks like that of a log. Errors: `not_found`.
expected<void> some_log_in(const std::filesystem::path& directory);

/// Opens a log to be read only, on whose directory no server runs. Errors: `locked`, those of open_rocks_log.
expected<std::unique_ptr<event_log>> open_offline(rocks_log_options options);

} // namespace tidemark
