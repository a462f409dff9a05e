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

/// Follows a task to its end and writes its answer. False: the client has not got all of it.
using follower = task<bool> (*)(exchange&, message_feed&, body_stream&);

/// Runs one task for a client. The body is streamed in any case, because only so is a client that
/// leaves noticed while its task still waits in the queue.
task<void> run_message(exchange& x, std::string type, std::map<std::string, std::string> headers,
                       follower follow) {
  auto request = co_await parse_body(x, parse_message_request);
  if (!request) {
    auto why = std::move(request.error());
    co_await send_v1_error(x, std::move(why));
    co_return;
  }
  const auto out = co_await x.stream(200, std::move(type), std::move(headers));
  if (!out)
    co_return;
  message_feed feed{x, *out, std::move(*request)};
  co_await feed.open();
  const auto written = co_await follow(x, feed, *out);
  if (!written)
    co_return;
  const auto acknowledged = co_await out->finish();
  if (acknowledged)
    feed.received();
}

task<bool> write_frames(exchange& x, message_feed& feed, body_stream& out) {
  while (!feed.over()) {
    const auto until = clock::now() + longest_silence(x);
    const auto frames = co_await feed.next(until);
    if (out.client_left())
      co_return false;
    const auto bytes = frames.empty() ? std::string{heartbeat} : encode(frames);
    const auto written = co_await out.write(bytes);
    if (!written)
      co_return false;
  }
  co_return true;
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

task<bool> write_reply(exchange&, message_feed& feed, body_stream& out) {
  std::string text;
  while (!feed.over()) {
    const auto frames = co_await feed.next(clock::time_point::max());
    if (out.client_left())
      co_return false;
    for (const auto& frame : frames)
      text += string_or(frame.body, "chunk");
  }
  const auto reply = message_reply(feed, text);
  co_return co_await out.write(reply);
}

task<void> stream_message(exchange& x) {
  std::map<std::string, std::string> headers;
  headers["Cache-Control"] = "no-cache, no-transform";
  headers["X-Accel-Buffering"] = "no";
  std::string type = "text/event-stream";
  co_await run_message(x, std::move(type), std::move(headers), write_frames);
}

task<void> send_message(exchange& x) {
  std::map<std::string, std::string> headers;
  std::string type = "application/json";
  co_await run_message(x, std::move(type), std::move(headers), write_reply);
}

} // namespace

void add_message_routes(router& to) {
  to.add("POST", "/api/v1/message", send_message);
  to.add("POST", "/api/v1/message/stream", stream_message);
}

} // namespace tidemark
