#pragma once

#include <chrono>
#include <cstddef>

namespace tidemark {

/// The `webhooks.*` settings (docs/operations.md).
struct webhook_options {
  bool allow_private = false; ///< receivers in loopback, link-local and private networks
  std::chrono::milliseconds timeout{10'000};    ///< of one attempt
  std::chrono::milliseconds first_retry{1'000}; ///< after the first failure; then doubled
  std::chrono::milliseconds longest_retry{5 * 60'000};
  /// Deliveries at a time over all webhooks, in their first second; slow and failing ones have places
  /// of their own, four times as many (delivery_places).
  std::size_t max_transfers = 32;
  bool enabled = true; ///< false: nothing is delivered (`server.passive`)
};

} // namespace tidemark
