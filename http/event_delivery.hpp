#pragma once

#include "http/event_query.hpp"
#include "http/exchange.hpp"
#include "storage/event_log.hpp"

namespace tidemark {

/// Where a request stands: its stream and what it asks of it.
struct reading {
  stream_info stream;
  event_query query;
  resume_point start;
};

std::string cursor_text(const stream_info& stream, offset after);

/// `low` up to three times that, so that a crowd of clients does not come back in one moment.
std::chrono::milliseconds jittered(std::chrono::milliseconds low);

/// Delivers one stream to one reader, as lines or frames, until its end or the reader's. A server
/// that stops ends it once no event follows and all were delivered. The body gets its proper end
/// unless the log could not be read or the reader closed its side before.
task<void> deliver(exchange& with, body_stream& out, reading what, event_form form);

} // namespace tidemark
