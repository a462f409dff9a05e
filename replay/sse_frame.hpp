#pragma once

#include "replay/cursor.hpp"
#include "storage/event.hpp"

#include <chrono>
#include <string>

namespace tidemark {

/// Appends the event's envelope as one JSON object:
/// `{"workspace","epoch","offset","position","time","type","turn"?,"data",["raw"],"hash"}`.
/// `data` is copied as stored, nothing is parsed. `raw` (a JSON string) only if `with_raw`.
void append_envelope(std::string& out, const event_view& e, bool with_raw);

/// Appends `id: <epoch>-<offset>`, `event: <type>`, `data: <envelope>` with LF line ends only
/// (WHATWG HTML 9.2.6; what clients tolerate: docs/events.md).
void append_sse(std::string& out, const event_view& e, bool with_raw);

/// The first frame of every stream: primes the client's cursor.
/// `retry` is the reconnection delay to suggest, jittered by the caller.
std::string hello_frame(const stream_info& stream, offset resumed_after,
                        std::chrono::milliseconds retry);

/// Says in-band that events between the reader's cursor and what follows are missing.
std::string gap_frame(gap_reason reason, const cursor& requested, const stream_info& stream,
                      offset resumed_after);

/// The last frame of a stream that has ended.
std::string end_frame(const stream_info& stream);

/// A comment that keeps proxies from timing out; goes only between frames, with one line feed.
inline constexpr std::string_view heartbeat = ":hb\n";

} // namespace tidemark
