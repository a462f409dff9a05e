#include "http/message_feed.hpp"
#include "http/parse_body.hpp"
#include "http/problem.hpp"
#include "http/router.hpp"
#include "replay/sse_frame.hpp"

#include <utility>

// POST /api/v1/message and /api/v1/message/stream (contracts: workspace API v1).
namespace tidemark {

namespace {

using clock = std::chrono::steady_clock;

std::string encode(const std::vector<v1_frame>& frames) {
  std::string bytes;
  for (const auto& frame : frames)
    append_v1_frame(bytes, frame);
  return bytes;
}

/// The client promises itself bytes every `heartbeat`; a third of it is room for slow machines.
clock::duration longest_silence(exchange& x) {
  return x.services().options.heartbeat * 2 / 3;
}

task<void> stream_message(exchange& x) {
  auto request = co_await parse_body(x, parse_message_request);
  if (!request) {
    auto why = std::move(request.error());
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  std::map<std::string, std::string> headers;
  headers["Cache-Control"] = "no-cache, no-transform";
  headers["X-Accel-Buffering"] = "no";
  std::string type = "text/event-stream";
  const auto out = co_await x.stream(200, std::move(type), std::move(headers));
  if (!out)
    co_return;
  message_feed feed{x, *out, std::move(*request)};
  co_await feed.open();
  while (!feed.over()) {
    const auto until = clock::now() + longest_silence(x);
    const auto frames = co_await feed.next(until);
    if (out->client_left())
      co_return;
    const auto bytes = frames.empty() ? std::string{heartbeat} : encode(frames);
    const auto written = co_await out->write(bytes);
    if (!written)
      co_return;
  }
  const auto acknowledged = co_await out->finish();
  if (acknowledged)
    feed.received();
}

std::string message_reply(const message_feed& feed, const std::string& text) {
  auto body = json::object();
  body["session_id"] = feed.session();
  body["message"] = text;
  body["success"] = true;
  body["error"] = nullptr;
  if (const auto& why = feed.failure()) {
    body["message"] = why->message;
    body["success"] = false;
    body["error"] =
      to_json(error_info{feed.err_id(), why->code, why->message, why->retryable, why->details});
  }
  return dump_json(body);
}

/// Waits for the end of the task. The body is streamed, because only so is a client that leaves
/// noticed while its task still waits in the queue.
task<void> send_message(exchange& x) {
  auto request = co_await parse_body(x, parse_message_request);
  if (!request) {
    auto why = std::move(request.error());
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  std::map<std::string, std::string> headers;
  std::string type = "application/json";
  const auto out = co_await x.stream(200, std::move(type), std::move(headers));
  if (!out)
    co_return;
  message_feed feed{x, *out, std::move(*request)};
  co_await feed.open();
  std::string text;
  while (!feed.over()) {
    const auto frames = co_await feed.next(clock::time_point::max());
    if (out->client_left())
      co_return;
    for (const auto& frame : frames)
      text += string_or(frame.body, "chunk");
  }
  const auto reply = message_reply(feed, text);
  const auto written = co_await out->write(reply);
  if (!written)
    co_return;
  const auto acknowledged = co_await out->finish();
  if (acknowledged)
    feed.received();
}

} // namespace

void add_message_routes(router& to) {
  to.add("POST", "/api/v1/message", send_message);
  to.add("POST", "/api/v1/message/stream", stream_message);
}

} // namespace tidemark
