#pragma once

#include "actors/consumer.hpp"
#include "actors/delivery_trouble.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace tidemark {

/// One webhook as the actor that delivers knows it (actors/webhooks.cpp).
struct served_webhook {
  webhook push;
  epoch incarnation;
  offset done;                           ///< delivered, or passed over
  offset recorded;                       ///< as the workspace last said
  std::optional<std::uint64_t> delivery; ///< the number of what is on its way
  offset sending;
  /// Retention removed what came before, up to here; 0: nothing that its receiver does not know of.
  offset missed;
  delivery_trouble trouble;                    ///< of the event that comes next
  std::chrono::steady_clock::time_point began; ///< the latest delivery
  bool was_slow = false; ///< the latest delivery took longer than is left to a quick place
  std::chrono::steady_clock::time_point next_try;
  std::chrono::steady_clock::time_point record_from; ///< not before this
  bool recording = false;
  bool burying = false;

  /// Not to begin in a quick place (actors/delivery_places.hpp).
  [[nodiscard]] bool is_slow() const { return was_slow || trouble.attempts > 0; }
};

} // namespace tidemark
