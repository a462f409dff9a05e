#include "app/sse_parser.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

// Every kind of line end, a comment, a heartbeat, several data lines and a non-ASCII character.
const std::string stream =
  "\xEF\xBB\xBF"
  "retry: 1500\nid: 3-1\nevent: hello\ndata: {\"a\":1}\n\n"
  ":hb\n"
  "id: 3-2\r\nevent: turn.queued\r\ndata: one\r\ndata:two \xE6\xBD\xAE\r\n\r\n"
  "data: bare\r\r"
  "id: 3-9\nevent: lost\ndata: incompl";

std::vector<std::string> as_text(const std::vector<sse_event>& events) {
  std::vector<std::string> out;
  for (const auto& e : events)
    out.push_back(e.id + "|" + e.type + "|" + e.data);
  return out;
}

const std::vector<std::string> what_it_says{
  "3-1|hello|{\"a\":1}", "3-2|turn.queued|one\ntwo \xE6\xBD\xAE", "3-2|message|bare"};

} // namespace

SCENARIO("a stream reads the same wherever the network cuts it") {
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    INFO("cut at byte " << cut);
    sse_parser parser;
    auto events = parser.feed(std::string_view{stream}.substr(0, cut));
    const auto rest = parser.feed(std::string_view{stream}.substr(cut));
    events.insert(events.end(), rest.begin(), rest.end());
    REQUIRE(as_text(events) == what_it_says);
  }
  sse_parser bytewise;
  std::vector<sse_event> events;
  for (const char c : stream)
    for (auto& e : bytewise.feed({&c, 1}))
      events.push_back(e);
  CHECK(as_text(events) == what_it_says);
  CHECK(bytewise.retry() == std::chrono::milliseconds{1500});
}

SCENARIO("an event that the connection cut off does not move the place to resume from") {
  sse_parser parser;
  parser.feed(stream);
  CHECK(parser.last_id() == "3-2");
  parser.reconnect();
  CHECK(parser.last_id() == "3-2");
  const auto events = parser.feed("id: 3-3\ndata: next\n\n");
  CHECK(as_text(events) == std::vector<std::string>{"3-3|message|next"});
}

SCENARIO("lines that are no fields change nothing") {
  sse_parser parser;
  CHECK(parser.feed("retry: -0\n\nretry: 1e3\n\n").empty()); // digits only
  CHECK(parser.feed("nonsense\nretry: soon\nevent: x\n\n:\n\n").empty());
  CHECK_FALSE(parser.retry());
  CHECK(as_text(parser.feed("data\n\n")) == std::vector<std::string>{"|message|"});
}
