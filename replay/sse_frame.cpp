#include "replay/sse_frame.hpp"

#include "base/json.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <tuple>

namespace tidemark {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";
constexpr std::size_t longest_number = 20; // digits of a 64-bit one

/// Writes fields one after the other into room that was made for all of them at once: an append to
/// a string for each would cost more than the fields.
class field_writer {
public:
  explicit field_writer(char* to) : at_(to) {}

  field_writer& text(std::string_view t) {
    at_ += t.copy(at_, t.size());
    return *this;
  }
  field_writer& number(std::uint64_t n) {
    at_ = std::to_chars(at_, at_ + longest_number, n).ptr;
    return *this;
  }
  field_writer& hex(const digest& hash) {
    for (const auto byte : hash) {
      *at_++ = hex_digits[byte >> 4];
      *at_++ = hex_digits[byte & 0xf];
    }
    return *this;
  }
  [[nodiscard]] char* end() const { return at_; }

private:
  char* at_;
};

/// What stands before the data is at most this long, the start of a frame included.
std::size_t longest_head(const event_view& e) {
  constexpr std::size_t constant_parts = 128; // the literals below
  return constant_parts + 5 * longest_number + std::tuple_size_v<iso8601_text> + e.workspace.size()
         + 2 * e.type.size() + e.turn.size();
}

/// The envelope up to its data.
void write_envelope_head(field_writer& to, const event_view& e) {
  const auto time = iso8601_chars(e.time);
  to.text(R"({"workspace":")").text(e.workspace);
  to.text(R"(","epoch":)").number(e.incarnation.value);
  to.text(R"(,"offset":)").number(e.at.value);
  to.text(R"(,"position":)").number(e.global.value);
  to.text(R"(,"time":")").text({time.data(), time.size()});
  to.text(R"(","type":")").text(e.type);
  if (!e.turn.empty())
    to.text(R"(","turn":")").text(e.turn);
  to.text(R"(","data":)");
}

/// Data and what follows it; `end` goes behind the envelope.
void append_envelope_rest(std::string& out, const event_view& e, bool with_raw,
                          std::string_view end) {
  out += e.data;
  if (with_raw && !e.raw.empty()) {
    out += R"(,"raw":)";
    out += quote_json(e.raw);
  }
  constexpr std::size_t literals = 32;
  std::array<char, 2 * std::tuple_size_v<digest> + literals> tail;
  field_writer to{tail.data()};
  if (e.hash)
    to.text(R"(,"hash":")").hex(*e.hash).text("\"");
  to.text("}").text(end);
  out.append(tail.data(), to.end());
}

/// Lets `write` put up to `room` bytes behind the text.
template <class Write>
void append_fields(std::string& out, std::size_t room, Write write) {
  const auto before = out.size();
  out.resize(before + room);
  field_writer to{out.data() + before};
  write(to);
  out.resize(static_cast<std::size_t>(to.end() - out.data()));
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
  append_fields(out, longest_head(e), [&](field_writer& to) { write_envelope_head(to, e); });
  append_envelope_rest(out, e, with_raw, {});
}

void append_sse(std::string& out, const event_view& e, bool with_raw) {
  const auto head = longest_head(e);
  out.reserve(out.size() + head + e.data.size() + (with_raw ? e.raw.size() : 0) + 96);
  append_fields(out, head, [&](field_writer& to) {
    to.text("id: ").number(e.incarnation.value).text("-").number(e.at.value);
    to.text("\nevent: ").text(e.type).text("\ndata: ");
    write_envelope_head(to, e);
  });
  append_envelope_rest(out, e, with_raw, "\n\n");
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
