#pragma once

#include "storage/event_log.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

/// The place a reader came to, as it gives it back: `3-1042` (epoch and offset) or `1042`.
struct cursor {
  std::optional<epoch> incarnation; ///< empty: the reader named only an offset
  offset after;                     ///< the last event it has

  /// Errors: `invalid_argument` for anything but `<epoch>-<offset>` or `<offset>` in decimal
  /// digits without sign that fit 63 bits.
  static expected<cursor> parse(std::string_view text);
  /// `<epoch>-<offset>`: short ASCII, because a non-ASCII id stops some SSE clients for ever.
  [[nodiscard]] std::string str() const;
};

/// Why a reader cannot simply go on from where it was (docs/events.md, Resume answers).
enum class gap_reason { other_epoch, trimmed, ahead };
std::string_view to_string(gap_reason reason) noexcept;

/// Where a reader starts and what it must be told first.
struct resume_point {
  offset after;                  ///< deliver from the event after this one
  std::optional<gap_reason> gap; ///< set if events are missing between its cursor and `after`
  bool finished = false;         ///< the stream has ended and the reader has all of it
};

/// Decides how a reader resumes. `asked` empty means "from the beginning".
/// - below the head: the rest; exactly the head: live;
/// - another epoch or trimmed away: a gap, then from the stream's first event;
/// - beyond the head: a gap, then live from the head.
resume_point resume_at(const std::optional<cursor>& asked, const stream_info& stream);

} // namespace tidemark
