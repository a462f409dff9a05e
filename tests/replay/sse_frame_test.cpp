#include "replay/sse_frame.hpp"

#include "base/json.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

event sample() {
  event e;
  e.workspace = "w";
  e.stream = stream_id{9};
  e.incarnation = epoch{3};
  e.at = offset{42};
  e.global = position{77};
  e.time = timestamp{1'764'435'600'042'000'000};
  e.type = "item.delta";
  e.turn = "t-1";
  e.data = R"({"text":"a\u2028b"})";
  e.raw = std::make_shared<const std::string>("{\"x\":\"\xE2\x80\xA8\"}\xFF");
  e.hash[0] = 0xAB;
  return e;
}

} // namespace

SCENARIO("an event's frame is one id, one type and one data line, LF only") {
  const auto e = sample();
  std::string frame;
  append_sse(frame, event_view::of(e), true);
  CHECK(frame.starts_with("id: 3-42\nevent: item.delta\ndata: {"));
  CHECK(frame.ends_with("}\n\n"));
  CHECK(std::count(frame.begin(), frame.end(), '\n') == 4);
  CHECK(frame.find('\r') == std::string::npos);
  CHECK(frame.find("\xE2\x80\xA8") == std::string::npos);

  const auto data = frame.substr(frame.find("data: ") + 6);
  const auto envelope = parse_json(data).value();
  CHECK(envelope["workspace"] == "w");
  CHECK(envelope["epoch"] == 3);
  CHECK(envelope["offset"] == 42);
  CHECK(envelope["position"] == 77);
  CHECK(envelope["time"] == "2025-11-29T17:00:00.042Z");
  CHECK(envelope["turn"] == "t-1");
  CHECK(envelope["data"]["text"] == "a\u2028b");
  CHECK(envelope["hash"].get<std::string>().substr(0, 4) == "ab00");
  CHECK(envelope.contains("raw"));
}

SCENARIO("the raw line is sent only to those who ask for it") {
  const auto e = sample();
  std::string frame;
  append_envelope(frame, event_view::of(e), false);
  CHECK_FALSE(parse_json(frame).value().contains("raw"));
}

SCENARIO("control frames carry an id that is a valid cursor") {
  stream_info s;
  s.incarnation = epoch{3};
  s.head = offset{50};
  s.trimmed = offset{4};
  const auto hello = hello_frame(s, offset{42}, std::chrono::milliseconds{1234});
  CHECK(hello
        == "id: 3-42\nevent: hello\nretry: 1234\ndata: "
           "{\"epoch\":3,\"head\":50,\"first\":5,\"resumed_after\":42}\n\n");
  const auto gap = gap_frame(gap_reason::ahead, cursor::parse("3-99").value(), s, offset{50});
  CHECK(gap
        == "id: 3-50\nevent: gap\ndata: "
           "{\"reason\":\"ahead\",\"requested\":\"3-99\",\"first\":5,\"head\":50,\"epoch\":3}\n\n");
  CHECK(end_frame(s) == "id: 3-50\nevent: end\ndata: {\"epoch\":3,\"head\":50}\n\n");
  CHECK(heartbeat == ":hb\n");
}
