#pragma once

#include <cstdint>
#include <optional>

namespace tidemark {

/// The one tick that an actor waits for. A message that was sent with a delay cannot be taken back, so
/// each carries a number, and one that a sooner tick has overtaken is let pass: if it counted, it would
/// send for another one, which would do the same, and they would never grow fewer. Pure.
template <class Time>
class alarm {
public:
  /// The number of the tick to send for; empty if the one on its way comes no later than `when`.
  std::optional<std::uint64_t> set(Time when) {
    if (due && *due <= when)
      return std::nullopt;
    due = when;
    return ++number_;
  }

  /// Whether this tick is the one that is waited for. If so, none is waited for any more.
  bool rings(std::uint64_t number) {
    if (!due || number != number_)
      return false;
    due.reset();
    return true;
  }

  std::optional<Time> due; ///< when the tick comes that is waited for

private:
  std::uint64_t number_ = 0;
};

} // namespace tidemark
