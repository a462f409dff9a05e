#include "http/event_delivery.hpp"
#include "http/find_workspace.hpp"
#include "http/problem.hpp"
#include "http/reader_seat.hpp"
#include "http/router.hpp"
#include "http/wake_event.hpp"

#include "actors/consumer.hpp"
#include "replay/sse_frame.hpp"

#include <fmt/format.h>

// The events of one workspace: as a page, as lines, as server-sent events (docs/events.md, Native API).
namespace tidemark {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t page_bytes = 8 << 20;
constexpr auto departure_check = std::chrono::seconds{1}; // of a client that waits for a page
constexpr std::size_t max_scanned = 100'000; // events looked at for one page, however few it wants

problem gap_problem(gap_reason reason, const cursor& asked, const stream_info& stream) {
  auto what = problem{};
  what.code = to_string(reason);
  switch (reason) {
  case gap_reason::other_epoch:
    what.status = 409;
    what.detail = "the cursor belongs to another incarnation of this workspace";
    break;
  case gap_reason::trimmed:
    what.status = 410;
    what.detail = fmt::format(
      "events after the cursor were removed by retention: the first one that is left is {}",
      stream.first().value);
    break;
  case gap_reason::ahead:
    what.status = 416;
    what.detail = "the cursor lies beyond the last event";
    break;
  }
  what.facts["reason"] = what.code;
  what.facts["requested"] = asked.str();
  what.facts["first"] = stream.first().value;
  what.facts["head"] = stream.head.value;
  what.facts["epoch"] = stream.incarnation.value;
  return what;
}

// -- the place ---------------------------------------------------------------

struct stream_place {
  stream_info stream;
  std::optional<cursor> reader; ///< where the consumer is; empty: none was named
};

/// A workspace's stream with the place of a consumer, if one is named. Blocks on the disk.
expected<stream_place> place_in(const event_log& log, const std::string& workspace,
                                const std::string& reader) {
  auto stream = find_workspace(log, workspace);
  if (!stream)
    return tl::make_unexpected(stream.error());
  auto out = stream_place{std::move(*stream), std::nullopt};
  if (reader.empty())
    return out;
  const auto who = stored_consumer(log, workspace, reader);
  if (!who)
    return tl::make_unexpected(who.error());
  out.reader = cursor{who->incarnation, who->at};
  return out;
}

/// Finds the stream and the place in it.
task<expected<reading>> locate(exchange& with) {
  const auto workspace = workspace_id::parse(with.param("id"));
  if (!workspace)
    co_return tl::make_unexpected(workspace.error());
  auto query = parse_event_query(with, with.services().options.max_wait);
  if (!query)
    co_return tl::make_unexpected(query.error());
  const auto* log = &with.services().log;
  const auto find = [log, id = workspace->str(), reader = query->consumer] {
    return place_in(*log, id, reader);
  };
  auto place = co_await with.blocking(find);
  if (!place)
    co_return tl::make_unexpected(place.error());
  auto& stream = place->stream;
  if (place->reader)
    query->from = place->reader;
  auto out = reading{};
  out.start = resume_at(query->from, stream);
  out.query = std::move(*query);
  out.stream = std::move(stream);
  co_return out;
}

task<void> send_gap(exchange& with, const reading& what) {
  with.services().metrics.gap(to_string(*what.start.gap));
  auto why = gap_problem(*what.start.gap, *what.query.from, what.stream);
  auto headers = std::map<std::string, std::string>{};
  co_await send_problem(with, std::move(why), std::move(headers));
}

// -- one page ----------------------------------------------------------------

struct page {
  std::string events; ///< the envelopes, joined by commas
  std::size_t count = 0;
  offset scanned;     ///< the last event looked at
  stream_info stream; ///< as it was before the read
};

/// Reads one page after `after`. Blocks on the disk.
expected<page> read_page(const event_log& log, const stream_info& of, const event_query& query,
                         offset after) {
  auto newest = log.find(of.name);
  if (!newest)
    return tl::make_unexpected(newest.error());
  auto out = page{};
  // A newer incarnation has offsets of its own: this reader stays with the one it began with.
  out.stream = newest->id == of.id ? std::move(*newest) : of;
  out.stream.ended = out.stream.ended || newest->id != of.id;
  out.scanned = after;
  const auto limit =
    std::min(query.limit.value_or(event_query::default_limit), event_query::max_limit);
  auto limits = read_limits{};
  limits.max_events = max_scanned;
  limits.max_bytes = 8 * page_bytes;
  limits.with_raw = query.raw;
  const auto take = [&](const event_view& e) {
    out.scanned = e.at;
    if (query.wants(e.type, e.turn)) {
      out.events += out.count++ == 0 ? "" : ",";
      append_envelope(out.events, e, query.raw);
    }
    return out.count < limit && out.events.size() < page_bytes;
  };
  const auto progress = log.read(out.stream.id, after.next(), limits, take);
  if (!progress)
    return tl::make_unexpected(progress.error());
  return out;
}

std::string to_json(const page& p) {
  const auto head = std::max(p.stream.head, p.scanned);
  return fmt::format(R"({{"events":[{}],"epoch":{},"head":{},"first":{},"next":"{}","ended":{}}})",
                     p.events, p.stream.incarnation.value, head.value, p.stream.first().value,
                     cursor_text(p.stream, p.scanned), p.stream.ended);
}

task<void> send_page(exchange& with, reading what) {
  auto& services = with.services();
  auto wake = std::make_shared<wake_event>(with.actors().get_executor());
  auto on_change = hub::waker{[wake] { wake->notify(); }};
  // Before the first look, so that no event between look and wait is missed.
  const auto registration = services.events.subscribe(what.stream.id, std::move(on_change));
  const auto deadline = clock::now() + what.query.wait;
  auto after = what.start.after;
  const auto read = [&services, &what, &after] {
    return read_page(services.log, what.stream, what.query, after);
  };
  for (;;) {
    const auto was_quiet = services.quiet.load(); // before the look: no event comes after it
    auto result = co_await with.blocking(read);
    if (!result && result.error().code == errc::trimmed) {
      // Retention has removed events since they were looked for: the question is asked anew.
      auto again = co_await locate(with);
      if (again && again->start.gap) {
        co_await send_gap(with, *again);
        break;
      }
      if (again && again->start.after != after) {
        what = std::move(*again);
        after = what.start.after;
        continue;
      }
    }
    if (!result) {
      co_await send_error(with, result.error());
      break;
    }
    const auto left = deadline - clock::now();
    const auto over = result->stream.ended || was_quiet || with.client_left();
    if (result->count > 0 || over || left <= clock::duration::zero()) {
      auto headers = std::map<std::string, std::string>{};
      headers["Tidemark-Resumed-After"] = cursor_text(what.stream, what.start.after);
      co_await with.send(200, to_json(*result), std::move(headers));
      break;
    }
    const auto more_to_scan = result->scanned > after && result->scanned < result->stream.head;
    after = result->scanned;
    if (!more_to_scan)
      co_await wake->wait(std::min<clock::duration>(left, departure_check));
  }
  wake->close();
}

// -- endless answers ---------------------------------------------------------

std::map<std::string, std::string> stream_headers(const reading& what) {
  auto headers = endless_headers();
  headers["Tidemark-Resumed-After"] = cursor_text(what.stream, what.start.after);
  return headers;
}

task<void> send_stream(exchange& with, reading what, event_form form) {
  const auto* type = form == event_form::frames ? "text/event-stream" : "application/x-ndjson";
  auto headers = stream_headers(what);
  auto body = co_await with.stream(200, type, std::move(headers));
  co_await deliver(with, *body, std::move(what), form);
}

task<void> events(exchange& with, std::shared_ptr<reader_count> seats) {
  auto what = co_await locate(with);
  if (!what) {
    co_await send_error(with, what.error());
    co_return;
  }
  const auto form = form_of(with.header("Accept").value_or(""));
  if (what->start.gap && form != event_form::frames) {
    co_await send_gap(with, *what);
  } else if (form == event_form::page && what->query.wait == clock::duration::zero()) {
    co_await send_page(with, std::move(*what));
  } else if (what->start.finished && form == event_form::frames) {
    co_await with.send(204, std::string{}); // tells event stream clients to stay away
  } else {
    const auto seat = reader_seat{std::move(seats), with.services()};
    if (!seat.granted()) {
      with.services().metrics.http_limit_hit("readers");
      auto headers = stream_headers(*what);
      co_await refuse_reader(with, form, std::move(headers));
    } else if (form == event_form::page) {
      co_await send_page(with, std::move(*what));
    } else {
      co_await send_stream(with, std::move(*what), form);
    }
  }
}

} // namespace

void add_event_routes(router& to, const std::shared_ptr<reader_count>& seats) {
  to.add("GET", "/api/v1/workspaces/{id}/events",
         [seats](exchange& with) { return events(with, seats); });
}

} // namespace tidemark
