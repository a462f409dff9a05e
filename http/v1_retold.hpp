#pragma once

#include "storage/event_log.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

/// The text of a finished turn as its stream gave it: all of the agent's own text, not only its
/// last message. Empty if the turn did not succeed or the log no longer has all of it.
/// Blocks on the disk.
std::optional<std::string> retell(const event_log& log, std::string_view workspace,
                                  const std::string& turn);

} // namespace tidemark
