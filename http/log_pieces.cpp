#include "http/log_pieces.hpp"

#include "replay/sse_frame.hpp"

#include <algorithm>
#include <utility>

namespace tidemark {

namespace {

/// What one piece looks at, however few of it the reader wants: it must hear something in time.
constexpr std::size_t most_read = 4 << 20;
constexpr std::size_t most_events = 10'000;
constexpr std::size_t usual_event = 32 << 10; // room for the one that a piece ends with

/// Fills one piece of about `size` bytes with up to `most` wanted events. Blocks on the disk.
log_piece read_piece(subscription& source, const event_query& wanted, event_form form,
                     std::size_t size, std::size_t most, std::string memory) {
  log_piece piece;
  piece.bytes = std::move(memory);
  piece.bytes.clear();
  piece.bytes.reserve(size + usual_event);
  read_limits limits;
  limits.max_events = most_events;
  limits.max_bytes = most_read;
  const auto take = [&](const event_view& e) {
    if (wanted.wants(e.type, e.turn)) {
      append_event(piece.bytes, e, form, wanted.raw);
      ++piece.events;
    }
    return piece.bytes.size() < size && piece.events < most;
  };
  if (auto read = source.read_log(limits, take); !read)
    piece.failure = std::move(read.error());
  piece.reached_head = source.reached_head();
  piece.ready = std::chrono::steady_clock::now();
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
  auto read = [source = source_, wanted = wanted_, form = form_, size = size_, most,
               memory = std::exchange(spare_, {})]() mutable {
    return read_piece(*source, *wanted, form, size, most, std::move(memory));
  };
  ahead_ = with_.begin(std::move(read));
}

task<log_piece> log_pieces::next(std::size_t most) {
  const auto asked = std::chrono::steady_clock::now();
  if (!ahead_)
    begin(most);
  auto piece = co_await ahead_->result();
  ahead_.reset();
  size_ =
    piece.ready > asked ? std::min(2 * size_, largest_piece) : std::max(size_ / 2, smallest_piece);
  const auto over = piece.failure || piece.reached_head || piece.events >= most;
  if (!over && piece.bytes.size() <= 2 * largest_piece)
    begin(most - piece.events);
  co_return piece;
}

void log_pieces::reuse(log_piece written) {
  // At the head a reader waits, perhaps for days: it keeps no memory for that.
  if (reading() && written.bytes.capacity() <= 2 * size_)
    spare_ = std::move(written.bytes);
}

} // namespace tidemark
