#pragma once

#include <chrono>
#include <cstddef>

namespace tidemark {

/// The `shell.*` settings (docs/operations.md).
struct shell_options {
  bool enabled = true;
  std::size_t max = 64;               ///< live shells at a time
  std::size_t max_per_workspace = 16; ///< of them in one workspace
  std::size_t scrollback_bytes = 256 << 10;
  std::size_t max_message_bytes = 1 << 20;             ///< of one message of a client
  std::chrono::milliseconds idle_timeout{10 * 60'000}; ///< without a client
  std::chrono::milliseconds hangup_grace{1'000};       ///< HUP before KILL
};

} // namespace tidemark
