#include "http/event_delivery.hpp"

#include "http/log_pieces.hpp"
#include "http/reader_output.hpp"
#include "replay/sse_frame.hpp"
#include "replay/subscription.hpp"

#include <limits>
#include <random>

namespace tidemark {

namespace {

constexpr std::size_t tail_piece = 64 << 10;
constexpr std::size_t large_event = 256 << 10; // is neither copied nor encoded among others

/// Delivers one stream to one reader: from the hot tail where it can, from the log where it must.
class delivery {
public:
  delivery(exchange& with, body_stream& out, reading what, event_form form)
    : with_(with),
      services_(with.services()),
      out_(out),
      to_(with, out, form),
      what_(std::move(what)),
      form_(form),
      source_(std::make_shared<subscription>(services_.log, services_.events, what_.stream,
                                             what_.start.after, out.waker(), what_.query.raw)),
      history_(with, source_, what_.query, form) {}

  task<void> run() {
    if (!co_await greet())
      co_return;
    auto going = true;
    while (going && !out_.client_left())
      going = co_await step();
    // What was cut short must not look complete, neither after a failure nor to a client that has
    // closed its own side only and still reads.
    if (!going && !to_.failed())
      co_await out_.finish();
  }

private:
  [[nodiscard]] bool frames() const { return to_.frames(); }

  task<bool> greet() {
    if (!frames())
      co_return true;
    const auto after = what_.start.after;
    buffer_ = hello_frame(what_.stream, after, jittered(std::chrono::milliseconds{1000}));
    if (what_.start.gap) {
      buffer_ += gap_frame(*what_.start.gap, *what_.query.from, what_.stream, after);
      services_.metrics.gap(to_string(*what_.start.gap));
    }
    co_return co_await flush();
  }

  /// One piece of work. False: the answer is complete or its reader gone.
  task<bool> step() {
    const auto was_quiet = services_.quiet.load(); // before the look: none comes after it
    if (!co_await to_.still_admitted())
      co_return false;
    if (history_.reading())
      co_return co_await send_history();
    const auto state = source_->poll(tail_piece, batch_);
    if (state == subscription::state::ready)
      co_return co_await send_tail();
    if (state == subscription::state::behind)
      co_return co_await send_history();
    if (state == subscription::state::ended) {
      what_.stream.head = source_->delivered();
      buffer_ = frames() ? end_frame(what_.stream) : std::string{};
      co_await flush();
      co_return false;
    }
    if (was_quiet || (!frames() && !what_.query.follow))
      co_return false;
    co_await to_.wait();
    co_return co_await to_.beat();
  }

  /// How many more events the reader wants.
  [[nodiscard]] std::size_t wanted() const {
    return what_.query.limit.value_or(std::numeric_limits<std::size_t>::max()) - sent_;
  }

  /// Writes the next piece of the log.
  task<bool> send_history() {
    auto piece = co_await history_.next(wanted());
    sent_ += piece.events;
    const auto enough = wanted() == 0;
    auto going = false;
    if (piece.events == 0) {
      going = co_await to_.beat();
    } else if (co_await to_.write(piece.bytes)) {
      services_.metrics.events_sent("log", piece.events, piece.bytes.size());
      going = !enough;
    }
    // What lies before the damage is whole, and was written.
    if (going && piece.failure)
      co_await to_.tell_failure(std::move(*piece.failure));
    going = going && !to_.failed();
    history_.reuse(std::move(piece));
    co_return going;
  }

  /// Writes the batch's events that the reader wants.
  task<bool> send_tail() {
    buffer_.clear();
    std::size_t count = 0;
    std::size_t bytes = 0;
    for (auto& slot : batch_) {
      auto each = std::move(slot); // a slow reader holds what it is being sent, no more
      const auto& e = *each->what;
      if (wanted() == 0 || !what_.query.wants(e.type, e.turn))
        continue;
      ++count;
      ++sent_;
      if (!is_large(e)) {
        append(buffer_, *each);
        continue;
      }
      bytes += buffer_.size();
      if (!co_await flush() || !co_await write_large(std::move(each), bytes))
        co_return false;
      buffer_.clear();
    }
    if (count == 0)
      co_return co_await to_.beat();
    bytes += buffer_.size();
    const auto written = co_await flush();
    if (written)
      services_.metrics.events_sent("tail", count, bytes);
    if (!written)
      co_return false;
    co_return wanted() > 0;
  }

  /// What all readers of this form share.
  [[nodiscard]] std::string_view shared(const hot_event& each) const {
    return frames() ? std::string_view{each.frame()} : each.line();
  }

  void append(std::string& to, const hot_event& each) const {
    if (what_.query.raw)
      append_event(to, event_view::of(*each.what), form_, true);
    else
      to += shared(each);
  }

  [[nodiscard]] bool is_large(const event& e) const {
    return e.data.size() + (what_.query.raw && e.raw ? e.raw->size() : 0) > large_event;
  }

  /// Encodes on the pool: megabytes would hold up every other connection of this thread. Adds what
  /// it wrote to `bytes`.
  task<bool> write_large(hot_event_ptr each, std::size_t& bytes) {
    if (!what_.query.raw) {
      const auto encode = [this, each] { return shared(*each); };
      const auto text = co_await with_.blocking(encode);
      bytes += text.size();
      co_return co_await to_.write(text);
    }
    const auto encode = [this, &each] {
      auto text = std::string{};
      append(text, *each);
      return text;
    };
    const auto text = co_await with_.blocking(encode);
    each.reset();
    bytes += text.size();
    co_return co_await to_.write(text);
  }

  task<bool> flush() {
    if (buffer_.empty())
      co_return true;
    co_return co_await to_.write(buffer_);
  }

  exchange& with_;
  http_services& services_;
  body_stream& out_;
  reader_output to_;
  reading what_;
  event_form form_;
  std::shared_ptr<subscription> source_; // shared with the reads of `history_`
  log_pieces history_;
  std::vector<hot_event_ptr> batch_;
  std::string buffer_; // reused: a reader costs one piece
  std::size_t sent_ = 0;
};

} // namespace

std::chrono::milliseconds jittered(std::chrono::milliseconds low) {
  thread_local auto random = std::mt19937{std::random_device{}()};
  auto spread = std::uniform_int_distribution<std::int64_t>{low.count(), 3 * low.count()};
  return std::chrono::milliseconds{spread(random)};
}

std::string cursor_text(const stream_info& stream, offset after) {
  return cursor{stream.incarnation, after}.str();
}

task<void> deliver(exchange& with, body_stream& out, reading what, event_form form) {
  auto reader = delivery{with, out, std::move(what), form};
  co_await reader.run();
}

} // namespace tidemark
