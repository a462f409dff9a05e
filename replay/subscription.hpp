#pragma once

#include "replay/cursor.hpp"
#include "replay/hub.hpp"
#include "storage/event_log.hpp"

#include <functional>
#include <vector>

namespace tidemark {

/// A reader's place in one stream: a cursor over log and hot tail, never a queue.
///
/// Use: `poll()` until it answers `idle`, then wait for the waker. When it answers `behind`, call
/// `read_log()` on a thread that may block. A stalled reader costs this object and nothing else.
/// Not thread-safe: one owner at a time; the waker alone comes from other threads.
class subscription {
public:
  enum class state {
    ready,  ///< `out` holds the next events
    idle,   ///< at the head: wait for the waker
    behind, ///< the tail no longer holds the next event: call read_log()
    ended   ///< the stream has ended and everything was delivered
  };

  /// Delivers the events of `stream` after `after`. Registers before it looks at the head, so no
  /// event between the two is missed. `with_raw` also loads the agents' own lines from the log.
  subscription(const event_log& log, hub& source, stream_info stream, offset after, hub::waker wake,
               bool with_raw = false);

  /// Takes the next events from the hot tail. Never blocks. `out` is cleared first.
  state poll(std::size_t max_bytes, std::vector<hot_event_ptr>& out);

  /// Visits the next events of the log without copying them; blocks on the disk. Whether the raw
  /// lines come with them is not for `limits` to say but for this subscription.
  /// Errors: those of event_log::read; what was visited before one counts as handed out.
  expected<void> read_log(read_limits limits, const event_visitor& visit);

  /// Takes the next events from the log; blocks on the disk. `out` is cleared first.
  /// Errors: those of event_log::read; `out` then holds what could be read.
  expected<void> read_log(std::size_t max_bytes, std::vector<hot_event_ptr>& out);

  /// The last event handed out.
  [[nodiscard]] offset delivered() const { return delivered_; }
  /// The log had nothing more when it was last read.
  [[nodiscard]] bool reached_head() const { return reached_head_; }

private:
  [[nodiscard]] bool at_final_head() const;

  const event_log& log_;
  hub& hub_;
  stream_info stream_;
  offset delivered_;
  bool with_raw_;
  bool reached_head_ = false; ///< the log had nothing after `delivered_` when it was last read
  hub::registration registration_;
};

} // namespace tidemark
