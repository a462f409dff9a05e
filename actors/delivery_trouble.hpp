#pragma once

#include "base/time.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace tidemark {

/// How the event that a webhook is at goes wrong. Kept in memory: after a restart it is told anew with
/// the first attempt that fails.
struct delivery_trouble {
  std::size_t attempts = 0;              ///< that have failed, of this event
  std::string error;                     ///< of the last one, as `description_of` says it
  timestamp failed;                      ///< when that was
  std::optional<timestamp> next_attempt; ///< not before this
};

/// The webhooks of one workspace whose last attempt failed, by name.
using delivery_troubles = std::map<std::string, delivery_trouble, std::less<>>;
using delivery_troubles_ptr = std::shared_ptr<const delivery_troubles>;

} // namespace tidemark
