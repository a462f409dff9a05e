// Where a reader says it is, and where it goes on: the parameters are read as docs/events.md says, no
// event is skipped without a word, and who follows the frames it gets ends up with every event once.
// Input: epoch, head, trimmed, flags (1 byte each), Last-Event-ID, a line feed, the query.
#include "app/sse_parser.hpp"
#include "base/json.hpp"
#include "http/event_query.hpp"
#include "http/uri.hpp"
#include "replay/cursor.hpp"
#include "replay/sse_frame.hpp"
#include "tests/fuzz/fuzz_input.hpp"

using namespace tidemark;
using tidemark::fuzz::require;

namespace {

class sent_request final : public request_parameters {
public:
  sent_request(std::string_view last_event_id, std::string_view query)
    : last_event_id_(last_event_id),
      query_(parse_query(query)) {}

  [[nodiscard]] std::optional<std::string> query(std::string_view name) const override {
    for (const auto& [given, value] : query_)
      if (given == name)
        return value;
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const override {
    return name == "Last-Event-ID" ? std::optional{last_event_id_} : std::nullopt;
  }

private:
  std::string last_event_id_;
  std::vector<std::pair<std::string, std::string>> query_;
};

std::optional<cursor> cursor_by_definition(const std::string& text) {
  const auto dash = text.find('-');
  const auto after = fuzz::decimal(dash == text.npos ? text : text.substr(dash + 1));
  const auto incarnation =
    fuzz::decimal(dash == text.npos ? "0" : std::string_view{text}.substr(0, dash));
  if (!after || !incarnation)
    return std::nullopt;
  cursor made;
  made.after = offset{*after};
  if (dash != text.npos)
    made.incarnation = epoch{*incarnation};
  return made;
}

bool same(const cursor& a, const cursor& b) {
  return a.after == b.after && a.incarnation == b.incarnation;
}

void check_cursor(const event_query& read, const request_parameters& sent) {
  std::string given = sent.header("Last-Event-ID").value_or("");
  for (const auto* name : {"after", "last_event_id", "lastEventId"})
    if (given.empty())
      given = sent.query(name).value_or("");
  if (given.empty())
    return require(!read.from, "without a cursor from the beginning");
  const auto expected = cursor_by_definition(given);
  require(expected && read.from && same(*expected, *read.from), "the cursor is the one given",
          given);
  const auto again = cursor::parse(read.from->str());
  require(again && same(*again, *read.from), "a cursor is written as it is read");
}

void check_query(const event_query& read, std::chrono::milliseconds max_wait) {
  require(!read.limit || *read.limit > 0, "a limit is above 0");
  require(read.wait.count() >= 0 && read.wait <= max_wait, "a wait is within its limit");
  for (const auto& type : read.types)
    require(!type.empty() && type.find(',') == type.npos && read.wants(type, read.turn),
            "a type that is asked for is wanted", type);
}

/// No event between what the reader has and what it gets next may be missing without a word.
void check_resume(const std::optional<cursor>& asked, const stream_info& stream) {
  const auto point = resume_at(asked, stream);
  require(stream.trimmed <= point.after && point.after <= stream.head,
          "it goes on inside the stream");
  const auto this_stream =
    !asked || !asked->incarnation || *asked->incarnation == stream.incarnation;
  const auto had = asked ? asked->after : stream.trimmed;
  require(point.gap.has_value() == (!this_stream || point.after != had), "what is missing is said");
  require(!point.finished
            || (stream.ended && point.after == stream.head && !point.gap && asked.has_value()),
          "only who has all of an ended stream is finished");
  if (point.gap == gap_reason::ahead)
    require(had > stream.head && point.after == stream.head, "ahead: live from the head");
  if (point.gap == gap_reason::trimmed)
    require(had < stream.trimmed && point.after == stream.trimmed, "trimmed: from the first left");
  if (point.gap == gap_reason::other_epoch)
    require(!this_stream && point.after == stream.trimmed, "another epoch: from the beginning");
}

std::string frame_of(const stream_info& stream, offset at, const std::string& data) {
  event e;
  e.workspace = stream.name;
  e.incarnation = stream.incarnation;
  e.at = at;
  e.type = "item.delta";
  e.data = data;
  e.raw = std::make_shared<const std::string>(data);
  std::string frame;
  append_sse(frame, event_view::of(e), true);
  return frame;
}

/// Reads up to `most` events from `from` as a client does that loses its connection after them.
/// Returns what it would send as Last-Event-ID, and adds the offsets that it got.
std::string read_some(const std::string& from, const stream_info& stream, std::string_view text,
                      std::uint64_t most, std::vector<std::uint64_t>& got) {
  const auto asked = from.empty() ? std::optional<cursor>{} : std::optional{*cursor::parse(from)};
  const auto point = resume_at(asked, stream);
  std::string sent = hello_frame(stream, point.after, std::chrono::milliseconds{1000});
  if (point.gap)
    sent += gap_frame(*point.gap, *asked, stream, point.after);
  const auto data = "{\"text\":" + quote_json(repair_utf8(text)) + "}";
  for (auto at = point.after.next(); at <= stream.head && most > 0; at = at.next(), --most)
    (sent += heartbeat) += frame_of(stream, at, data);
  sse_parser client;
  for (const auto piece : fuzz::pieces_of(sent, most + 2))
    for (const auto& each : client.feed(piece)) {
      const auto body = parse_json(each.data);
      require(body.has_value() && body->is_object(), "every frame holds one JSON object",
              each.data);
      if (each.type != "item.delta")
        continue;
      require(dump_json(body->at("data")) == data, "data comes as it was stored", each.data);
      got.push_back(body->at("offset").get<std::uint64_t>());
    }
  return client.last_id();
}

/// A reader that comes back again and again gets what is left of the stream, each event once.
void check_reader(const std::optional<cursor>& asked, const stream_info& stream,
                  std::string_view text) {
  std::vector<std::uint64_t> got;
  std::vector<std::uint64_t> expected;
  const auto first = resume_at(asked, stream).after;
  for (auto at = first.next(); at <= stream.head; at = at.next())
    expected.push_back(at.value);
  auto id = asked ? asked->str() : std::string{};
  for (std::uint64_t most = 0; got.size() < expected.size() && most < 32; ++most)
    id = read_some(id, stream, text, most, got);
  require(got == expected, "every event once, in order, over any number of connections");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::chrono::milliseconds max_wait{60'000};
  fuzz::input in{data, size};
  stream_info stream;
  stream.name = "w";
  stream.incarnation = epoch{1 + in.number(1) % 4};
  stream.head = offset{in.number(1) % 24};
  stream.trimmed = offset{in.number(1) % (stream.head.value + 1)};
  stream.ended = in.number(1) % 2 == 1;
  const auto last_event_id = in.line();
  const auto query = in.rest();
  const sent_request sent{last_event_id, query};
  const auto read = parse_event_query(sent, max_wait);
  if (!read) {
    require(read.error().code == errc::invalid_argument, "a bad request is called one");
    return 0;
  }
  check_cursor(*read, sent);
  check_query(*read, max_wait);
  check_resume(read->from, stream);
  check_reader(read->from, stream, query);
  return 0;
}
