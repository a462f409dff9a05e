#pragma once

#include "http/event_query.hpp"
#include "http/exchange.hpp"
#include "replay/subscription.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace tidemark {

/// Appends one event the way a reader of this form takes it; for `lines` and `frames`.
void append_event(std::string& to, const event_view& e, event_form form, bool with_raw);

/// A stretch of the log, ready to be written to one reader.
struct log_piece {
  std::string bytes;              ///< the events that the reader wants
  std::size_t events = 0;         ///< how many those are
  bool reached_head = false;      ///< the log had nothing more
  std::optional<error> failure{}; ///< what the log could not be read for after these events
  std::chrono::steady_clock::time_point ready; ///< when it was read
};

/// Reads and encodes one reader's history on the blocking pool, one piece ahead of the connection
/// that writes them: the disk and the network are busy at the same time, and neither a read nor an
/// encoding ever holds up an I/O thread.
///
/// Memory: the piece being written and the one ahead of it, each at most `largest_piece` and one event
/// more. Pieces grow while the client is faster than the log, so that few turns of the pool stand in
/// its way, and shrink when it is slower, so that a crowd of slow ones holds little. Nothing is read
/// ahead of a piece that an event made larger still. Used by one coroutine.
class log_pieces {
public:
  static constexpr std::size_t smallest_piece = 128 << 10;
  static constexpr std::size_t largest_piece = 1 << 20;

  /// `source` may be polled whenever `reading` is false.
  log_pieces(exchange& with, std::shared_ptr<subscription> source, event_query wanted,
             event_form form);

  /// True while a piece is on its way: `next` comes before anything else then.
  [[nodiscard]] bool reading() const { return ahead_.has_value(); }

  /// The next piece, of at most `most` events; begins to read the one after it.
  task<log_piece> next(std::size_t most);

  /// Takes back the memory of a piece that has been written, for the one after the next.
  void reuse(log_piece written);

private:
  void begin(std::size_t most);

  exchange& with_;
  std::shared_ptr<subscription> source_;
  std::shared_ptr<const event_query> wanted_;
  event_form form_;
  std::optional<pool_work<log_piece>> ahead_;
  std::string spare_;
  std::size_t size_ = smallest_piece; // of the next piece to be read
};

} // namespace tidemark
