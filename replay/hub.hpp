#pragma once

#include "storage/event_log.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark {

/// One durable event with its server-sent frame, encoded by the first reader that wants it and
/// shared by all: events that nobody follows cost the publisher no encoding.
class hot_event {
public:
  explicit hot_event(event_ptr e) : what(std::move(e)) {}

  const event_ptr what;

  /// See replay/sse_frame.hpp. Any thread.
  [[nodiscard]] const std::string& frame() const;
  /// The part of the frame that is the event's JSON object and one line feed.
  [[nodiscard]] std::string_view line() const;
  /// About what the frame takes, encoded or not.
  [[nodiscard]] std::size_t frame_bytes() const;

private:
  mutable std::once_flag encoded_;
  mutable std::string frame_;
};
using hot_event_ptr = std::shared_ptr<const hot_event>;

/// The last events of active streams, and who wants to hear of new ones.
///
/// Holds no queue per reader: a reader is told that its stream's head moved, and takes what it
/// needs from the tail, or from the log if it has fallen behind the tail. Memory is bounded by
/// `max_bytes_per_stream` and `max_bytes_total`; the least recently published stream gives way.
/// Thread-safe. Wakers are called without a lock held, on the publishing thread, perhaps once more
/// while their registration ends: they must own what they touch and only notify (for example post
/// to an executor).
class hub {
public:
  using waker = std::function<void()>;

  struct limits {
    std::size_t max_bytes_per_stream = 4 << 20;
    std::size_t max_bytes_total = 64 << 20;
  };

  /// Ends the registration when destroyed.
  class registration {
  public:
    registration() = default;
    registration(hub& owner, stream_id stream, std::uint64_t key)
      : owner_(&owner),
        stream_(stream),
        key_(key) {}
    registration(registration&& other) noexcept;
    registration& operator=(registration&& other) noexcept;
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;
    ~registration();

  private:
    hub* owner_ = nullptr;
    stream_id stream_;
    std::uint64_t key_ = 0;
  };

  hub();
  explicit hub(limits bounds);
  ~hub();
  hub(const hub&) = delete;
  hub& operator=(const hub&) = delete;

  /// Adds events that are durable, in commit order, and wakes their streams' readers. Called by
  /// the committing thread only. `ended` marks streams that get no further event.
  void publish(std::span<const event_ptr> events, std::span<const stream_id> ended = {});

  /// Calls `wake` after every publish that concerns `stream`, and on `wake_all`.
  [[nodiscard]] registration subscribe(stream_id stream, waker wake);
  /// The same for every stream: the audit feed over all workspaces.
  [[nodiscard]] registration subscribe_all(waker wake);

  /// The hot events from `from` on, up to `max_bytes` (at least one if there is any).
  /// Returns false if `from` is older than the tail, or the stream is not hot: read the log then.
  bool read_tail(stream_id stream, offset from, std::size_t max_bytes,
                 std::vector<hot_event_ptr>& out) const;

  /// The last event published for `stream` since somebody subscribed or it became hot; else 0.
  [[nodiscard]] offset last_published(stream_id stream) const;
  [[nodiscard]] bool ended(stream_id stream) const;
  [[nodiscard]] std::size_t readers() const;

  /// Wakes every reader, for shutdown.
  void wake_all();

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace tidemark
