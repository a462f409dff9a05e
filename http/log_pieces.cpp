#include "http/log_pieces.hpp"

#include "replay/sse_frame.hpp"

#include <utility>

namespace tidemark {

namespace {

/// What one piece looks at, however few of it the reader wants: it must hear something in time.
constexpr std::size_t most_read = 4 << 20;
constexpr std::size_t most_events = 10'000;
constexpr std::size_t usual_event = 32 << 10; // room for the one that a piece ends with
constexpr std::size_t largest_kept = 2 * log_pieces::piece_bytes;

/// Fills one piece with up to `most` wanted events. Blocks on the disk.
log_piece read_piece(subscription& source, const event_query& wanted, event_form form,
                     std::size_t most, std::string memory) {
  log_piece piece;
  piece.bytes = std::move(memory);
  piece.bytes.clear();
  piece.bytes.reserve(log_pieces::piece_bytes + usual_event);
  read_limits limits;
  limits.max_events = most_events;
  limits.max_bytes = most_read;
  const auto take = [&](const event_view& e) {
    if (wanted.wants(e.type, e.turn)) {
      append_event(piece.bytes, e, form, wanted.raw);
      ++piece.events;
    }
    return piece.bytes.size() < log_pieces::piece_bytes && piece.events < most;
  };
  if (auto read = source.read_log(limits, take); !read)
    piece.failure = std::move(read.error());
  piece.reached_head = source.reached_head();
  return piece;
}

} // namespace

void append_event(std::string& to, const event_view& e, event_form form, bool with_raw) {
  if (form == event_form::frames) {
    append_sse(to, e, with_raw);
  } else {
    append_envelope(to, e, with_raw);
    to += '\n';
  }
}

log_pieces::log_pieces(exchange& with, std::shared_ptr<subscription> source, event_query wanted,
                       event_form form)
  : with_(with),
    source_(std::move(source)),
    wanted_(std::make_shared<const event_query>(std::move(wanted))),
    form_(form) {}

void log_pieces::begin(std::size_t most) {
  auto read = [source = source_, wanted = wanted_, form = form_, most,
               memory = std::exchange(spare_, {})]() mutable {
    return read_piece(*source, *wanted, form, most, std::move(memory));
  };
  ahead_ = with_.begin(std::move(read));
}

task<log_piece> log_pieces::next(std::size_t most) {
  if (!ahead_)
    begin(most);
  auto piece = co_await ahead_->result();
  ahead_.reset();
  const auto over = piece.failure || piece.reached_head || piece.events >= most;
  if (!over && piece.bytes.size() <= largest_kept)
    begin(most - piece.events);
  co_return piece;
}

void log_pieces::reuse(log_piece written) {
  // At the head a reader waits, perhaps for days: it keeps no memory for that.
  if (reading() && written.bytes.capacity() <= largest_kept)
    spare_ = std::move(written.bytes);
}

} // namespace tidemark
