#include "replay/sse_frame.hpp"

#include "base/json.hpp"

#include <fmt/format.h>

#include <iterator>

namespace tidemark {

namespace {

void append_hex(std::string& out, const digest& hash) {
  static constexpr char digits[] = "0123456789abcdef";
  for (auto byte : hash) {
    out += digits[byte >> 4];
    out += digits[byte & 0xf];
  }
}

std::string frame(std::string_view id, std::string_view type, std::string_view extra,
                  std::string_view data) {
  return fmt::format("id: {}\nevent: {}\n{}data: {}\n\n", id, type, extra, data);
}

std::string cursor_at(const stream_info& stream, offset after) {
  return cursor{stream.incarnation, after}.str();
}

} // namespace

void append_envelope(std::string& out, const event_view& e, bool with_raw) {
  fmt::format_to(
    std::back_inserter(out),
    R"({{"workspace":"{}","epoch":{},"offset":{},"position":{},"time":"{}","type":"{}")",
    e.workspace, e.incarnation.value, e.at.value, e.global.value, iso8601(e.time), e.type);
  if (!e.turn.empty()) {
    out += R"(,"turn":")";
    out += e.turn;
    out += '"';
  }
  out += R"(,"data":)";
  out += e.data;
  if (with_raw && !e.raw.empty()) {
    out += R"(,"raw":)";
    out += quote_json(e.raw);
  }
  if (e.hash) {
    out += R"(,"hash":")";
    append_hex(out, *e.hash);
    out += '"';
  }
  out += '}';
}

void append_sse(std::string& out, const event_view& e, bool with_raw) {
  out.reserve(out.size() + e.data.size() + (with_raw ? e.raw.size() : 0) + 320);
  fmt::format_to(std::back_inserter(out), "id: {}-{}\nevent: {}\ndata: ", e.incarnation.value,
                 e.at.value, e.type);
  append_envelope(out, e, with_raw);
  out += "\n\n";
}

std::string hello_frame(const stream_info& stream, offset resumed_after,
                        std::chrono::milliseconds retry) {
  return frame(cursor_at(stream, resumed_after), "hello", fmt::format("retry: {}\n", retry.count()),
               fmt::format(R"({{"epoch":{},"head":{},"first":{},"resumed_after":{}}})",
                           stream.incarnation.value, stream.head.value, stream.first().value,
                           resumed_after.value));
}

std::string gap_frame(gap_reason reason, const cursor& requested, const stream_info& stream,
                      offset resumed_after) {
  return frame(cursor_at(stream, resumed_after), "gap", "",
               fmt::format(R"({{"reason":"{}","requested":"{}","first":{},"head":{},"epoch":{}}})",
                           to_string(reason), requested.str(), stream.first().value,
                           stream.head.value, stream.incarnation.value));
}

std::string end_frame(const stream_info& stream) {
  return frame(
    cursor_at(stream, stream.head), "end", "",
    fmt::format(R"({{"epoch":{},"head":{}}})", stream.incarnation.value, stream.head.value));
}

} // namespace tidemark
