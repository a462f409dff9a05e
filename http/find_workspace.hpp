#pragma once

#include "storage/event_log.hpp"

#include <string>

namespace tidemark {

/// The stream of a workspace. Errors: those of event_log::find, in the words of who asked for a
/// workspace. Blocks on the disk.
expected<stream_info> find_workspace(const event_log& log, const std::string& id);

} // namespace tidemark
