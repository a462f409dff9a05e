// GET /api/v1/events: the events of all workspaces, by position (docs/events.md, Native API). A page, lines or
// server-sent events; each is made of stretches of bounded work, so that a question that has to look at the
// whole log holds nothing up, says how far it is, and ends when its reader leaves.
#include "http/audit_request.hpp"
#include "http/event_delivery.hpp"
#include "http/event_query.hpp"
#include "http/problem.hpp"
#include "http/reader_output.hpp"
#include "http/reader_seat.hpp"
#include "http/router.hpp"
#include "http/wake_event.hpp"
#include "replay/sse_frame.hpp"

#include <fmt/format.h>

#include <limits>

namespace tidemark {

namespace {

using clock = std::chrono::steady_clock;

/// One stretch of work on the blocking pool: some tens of milliseconds of the disk's time.
constexpr std::size_t most_looked_at = 20'000;
/// One on the background pool, which rests after each: some milliseconds.
constexpr std::size_t most_looked_at_a_rest = 4'000;
constexpr std::size_t most_read = 8 << 20;
constexpr std::size_t most_read_a_rest = 2 << 20;
constexpr std::size_t piece_bytes = 1 << 20;
/// What one page may cost before it is answered as it is, for its reader to go on from there.
constexpr auto page_time = std::chrono::milliseconds{500};
constexpr std::size_t page_bytes = 8 << 20;
constexpr std::size_t default_limit = 1000;
constexpr std::size_t max_limit = 10'000;
constexpr auto progress_interval = std::chrono::seconds{1};
constexpr auto departure_check = std::chrono::seconds{1}; // of a client that waits for a page

/// What one stretch found.
struct stretch {
  std::string text; ///< the events, in the form asked for
  std::size_t events = 0;
  std::size_t looked_at = 0;
  position next;
  bool reached_end = false;
};

/// A question and how far it has come. Shared with the pool's threads, one at a time.
class search {
public:
  search(const event_log& log, audit_request what, event_form form)
    : log_(log),
      what_(std::move(what)),
      form_(form),
      start_(resume_audit(what_, log.incarnation(), log.head())) {
    ask_anew();
  }

  [[nodiscard]] const audit_request& request() const { return what_; }
  [[nodiscard]] std::optional<gap_reason> gap() const { return start_.gap; }
  [[nodiscard]] position head() const { return head_; }
  [[nodiscard]] epoch incarnation() const { return log_.incarnation(); }
  [[nodiscard]] std::size_t looked_at() const { return looked_at_; }

  /// The last event that was looked at.
  [[nodiscard]] position last_seen() const {
    return what_.way == direction::oldest_first ? position{next_.value - 1} : next_.next();
  }
  /// What the reader comes back with.
  [[nodiscard]] std::string cursor_text() const { return cursor_at(last_seen()); }

  /// Whether what is left is a look at much of the log, as far as the last stretch could tell.
  [[nodiscard]] bool is_long() const { return is_long_; }

  /// Blocks on the disk.
  expected<stretch> read(std::size_t most_events, std::size_t most_bytes) {
    if (!begun_)
      if (auto begun = begin(); !begun)
        return tl::make_unexpected(begun.error());
    auto out = stretch{};
    auto limits = read_limits{};
    limits.max_events = is_long_ ? most_looked_at_a_rest : most_looked_at;
    limits.max_bytes = is_long_ ? most_read_a_rest : most_read;
    limits.with_raw = what_.raw;
    const auto take = [&](const event_view& e) {
      append(out.text, e, out.events == 0);
      ++out.events;
      return out.events < most_events && out.text.size() < most_bytes;
    };
    const auto read = query_->read(next_, limits, take);
    if (!read)
      return tl::make_unexpected(read.error());
    next_ = read->next;
    is_long_ = query_->to_look_at(next_).value_or(0) > most_looked_at;
    looked_at_ += read->looked_at;
    out.looked_at = read->looked_at;
    out.next = next_;
    out.reached_end = read->reached_end;
    return out;
  }

  /// Asks about what has come since the question was put.
  void ask_anew() {
    head_ = log_.head();
    query_.emplace(log_, what_.filter, what_.way);
    is_long_ = false;
  }

private:
  expected<void> begin() {
    const auto start = query_->start();
    if (!start)
      return tl::make_unexpected(start.error());
    const auto resumed = start_.from.value_or(*start);
    next_ =
      what_.way == direction::oldest_first ? std::max(resumed, *start) : std::min(resumed, *start);
    begun_ = true;
    return {};
  }

  [[nodiscard]] std::string cursor_at(position at) const {
    return cursor{log_.incarnation(), offset{at.value}}.str();
  }

  void append(std::string& out, const event_view& e, bool first) const {
    if (form_ == event_form::frames)
      out += fmt::format("id: {}\nevent: {}\ndata: ", cursor_at(e.global), e.type);
    else if (form_ == event_form::page && !first)
      out += ',';
    append_envelope(out, e, what_.raw);
    if (form_ != event_form::page)
      out += form_ == event_form::frames ? "\n\n" : "\n";
  }

  const event_log& log_;
  const audit_request what_;
  const event_form form_;
  const audit_start start_;
  std::optional<audit_query> query_;
  position head_;
  position next_;
  std::size_t looked_at_ = 0;
  bool begun_ = false;
  bool is_long_ = false;
};

/// One stretch of work, where it holds nobody up.
task<expected<stretch>> look(exchange& with, std::shared_ptr<search> from, std::size_t most_events,
                             std::size_t most_bytes) {
  const auto read = [from, most_events, most_bytes] { return from->read(most_events, most_bytes); };
  if (from->is_long())
    co_return co_await with.in_background(read);
  co_return co_await with.blocking(read);
}

json gap_facts(const search& of) {
  auto facts = json::object();
  facts["reason"] = to_string(*of.gap());
  facts["requested"] = of.request().after->str();
  facts["head"] = of.head().value;
  facts["epoch"] = of.incarnation().value;
  return facts;
}

// -- one page ----------------------------------------------------------------

struct page {
  std::string events;
  std::size_t count = 0;
  bool complete = false;
};

std::string to_json(const page& p, const search& of) {
  return fmt::format(R"({{"events":[{}],"next":"{}","head":{},"looked_at":{},"complete":{}}})",
                     p.events, of.cursor_text(), of.head().value, of.looked_at(), p.complete);
}

/// Looks on until the page is full, its time is up or nothing is left.
task<expected<page>> read_page(exchange& with, std::shared_ptr<search> from) {
  auto out = page{};
  const auto limit = std::min(from->request().limit.value_or(default_limit), max_limit);
  const auto until = clock::now() + page_time;
  do {
    const auto more = co_await look(with, from, limit - out.count, page_bytes - out.events.size());
    if (!more)
      co_return tl::make_unexpected(more.error());
    if (more->events > 0)
      out.events += (out.count > 0 ? "," : "") + more->text;
    out.count += more->events;
    out.complete = more->reached_end;
  } while (!out.complete && out.count < limit && out.events.size() < page_bytes
           && clock::now() < until && !with.client_left());
  co_return out;
}

task<void> send_page(exchange& with, std::shared_ptr<search> from) {
  auto& services = with.services();
  auto wake = std::make_shared<wake_event>(with.actors().get_executor());
  auto on_change = hub::waker{[wake] { wake->notify(); }};
  // Before the first look, so that no event between look and wait is missed.
  const auto registration = services.events.subscribe_all(std::move(on_change));
  const auto deadline = clock::now() + from->request().wait;
  for (;;) {
    const auto was_quiet = services.quiet.load(); // before the look: no event comes after it
    const auto result = co_await read_page(with, from);
    if (!result) {
      co_await send_error(with, result.error());
      break;
    }
    const auto left = deadline - clock::now();
    const auto over = was_quiet || with.client_left() || left <= clock::duration::zero();
    if (result->count > 0 || !result->complete || over) {
      co_await with.send(200, to_json(*result, *from));
      break;
    }
    co_await wake->wait(std::min<clock::duration>(left, departure_check));
    from->ask_anew();
  }
  wake->close();
}

// -- endless answers ---------------------------------------------------------

/// Sends what is found to one reader, and goes on with what comes if it follows.
class audit_delivery {
public:
  audit_delivery(exchange& with, body_stream& out, std::shared_ptr<search> from, event_form form)
    : with_(with),
      services_(with.services()),
      out_(out),
      to_(with, out, form),
      from_(std::move(from)) {}

  task<void> run() {
    auto going = !to_.frames() || co_await greet();
    while (going && !out_.client_left())
      going = co_await step();
    // What was cut short must not look complete.
    if (!going && !to_.failed())
      co_await out_.finish();
  }

private:
  [[nodiscard]] bool follows() const {
    const auto& what = from_->request();
    return what.way == direction::oldest_first && (to_.frames() || what.follow);
  }

  task<bool> greet() {
    const auto retry = jittered(std::chrono::milliseconds{1000});
    auto frames = fmt::format("event: hello\nretry: {}\ndata: {{\"head\":{}}}\n\n", retry.count(),
                              from_->head().value);
    if (const auto gap = from_->gap()) {
      frames += fmt::format("event: gap\ndata: {}\n\n", dump_json(gap_facts(*from_)));
      services_.metrics.gap(to_string(*gap));
    }
    co_return co_await to_.write(frames);
  }

  /// One stretch of work. False: the answer is complete or its reader gone.
  task<bool> step() {
    const auto was_quiet = services_.quiet.load(); // before the look: none comes after it
    if (!co_await to_.still_admitted())
      co_return false;
    auto found = co_await look(with_, from_, left(), piece_bytes);
    if (!found) {
      co_await to_.tell_failure(std::move(found.error()));
      co_return false;
    }
    sent_ += found->events;
    if (!found->text.empty()) {
      if (!co_await to_.write(found->text))
        co_return false;
      services_.metrics.events_sent("log", found->events, found->text.size());
    }
    if (left() == 0)
      co_return false;
    if (!found->reached_end)
      co_return co_await say_progress();
    if (was_quiet || !follows())
      co_return false;
    co_await to_.wait();
    from_->ask_anew();
    co_return co_await to_.beat();
  }

  [[nodiscard]] std::size_t left() const {
    return from_->request().limit.value_or(std::numeric_limits<std::size_t>::max()) - sent_;
  }

  /// For a reader that would otherwise hear nothing of a search that finds little.
  task<bool> say_progress() {
    if (clock::now() - last_progress_ < progress_interval)
      co_return true;
    last_progress_ = clock::now();
    const auto facts =
      fmt::format(R"({{"position":{},"head":{},"looked_at":{}}})", from_->last_seen().value,
                  from_->head().value, from_->looked_at());
    if (to_.frames())
      co_return co_await to_.write(fmt::format("event: progress\ndata: {}\n\n", facts));
    if (from_->request().progress)
      co_return co_await to_.write(fmt::format("{{\"progress\":{}}}\n", facts));
    co_return co_await to_.beat();
  }

  exchange& with_;
  http_services& services_;
  body_stream& out_;
  reader_output to_;
  std::shared_ptr<search> from_; // shared with the work on the pool
  std::size_t sent_ = 0;
  clock::time_point last_progress_ = clock::now();
};

task<void> send_stream(exchange& with, std::shared_ptr<search> from, event_form form) {
  const auto* type = form == event_form::frames ? "text/event-stream" : "application/x-ndjson";
  auto headers = endless_headers();
  auto body = co_await with.stream(200, type, std::move(headers));
  const auto registration = with.services().events.subscribe_all(body->waker());
  auto delivery = audit_delivery{with, *body, std::move(from), form};
  co_await delivery.run();
}

problem gap_problem(const search& of) {
  auto what = problem{};
  what.code = to_string(*of.gap());
  what.status = *of.gap() == gap_reason::ahead ? 416 : 409;
  what.detail = *of.gap() == gap_reason::ahead
                  ? "the cursor lies beyond the last event of the log"
                  : "the cursor is of another history: the log was restored from a backup since";
  what.facts = gap_facts(of);
  return what;
}

task<void> audit(exchange& with, std::shared_ptr<reader_count> seats) {
  auto asked = parse_audit_request(with, with.services().options.max_wait);
  if (!asked) {
    co_await send_error(with, asked.error());
    co_return;
  }
  const auto form = form_of(with.header("Accept").value_or(""));
  const auto ends = form == event_form::page && asked->wait.count() == 0;
  auto from = std::make_shared<search>(with.services().log, std::move(*asked), form);
  if (from->gap() && form != event_form::frames) {
    with.services().metrics.gap(to_string(*from->gap()));
    auto why = gap_problem(*from);
    co_await send_problem(with, std::move(why));
    co_return;
  }
  if (ends) {
    co_await send_page(with, std::move(from));
    co_return;
  }
  const auto seat = reader_seat{std::move(seats), with.services()};
  if (!seat.granted()) {
    with.services().metrics.http_limit_hit("readers");
    co_await refuse_reader(with, form);
  } else if (form == event_form::page) {
    co_await send_page(with, std::move(from));
  } else {
    co_await send_stream(with, std::move(from), form);
  }
}

} // namespace

void add_audit_routes(router& to, const std::shared_ptr<reader_count>& seats) {
  to.add("GET", "/api/v1/events", [seats](exchange& with) { return audit(with, seats); });
}

} // namespace tidemark
