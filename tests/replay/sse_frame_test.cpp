#include "replay/sse_frame.hpp"

#include "base/json.hpp"
#include "storage/hash_chain.hpp"

#include <catch2/catch.hpp>

#include <iterator>
#include <limits>
#include <random>

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

/// The envelope by its documentation, without a thought for speed.
std::string plain_envelope(const event& e, bool with_raw, bool with_hash) {
  std::string out = "{\"workspace\":\"" + e.workspace + "\"";
  out += ",\"epoch\":" + std::to_string(e.incarnation.value);
  out += ",\"offset\":" + std::to_string(e.at.value);
  out += ",\"position\":" + std::to_string(e.global.value);
  out += ",\"time\":\"" + iso8601(e.time) + "\",\"type\":\"" + e.type + "\"";
  if (!e.turn.empty())
    out += ",\"turn\":\"" + e.turn + "\"";
  out += ",\"data\":" + e.data;
  if (with_raw && e.raw && !e.raw->empty())
    out += ",\"raw\":" + quote_json(*e.raw);
  if (with_hash)
    out += ",\"hash\":\"" + to_hex(e.hash) + "\"";
  return out + "}";
}

std::uint64_t any_number(std::mt19937_64& random) {
  switch (random() % 4) {
  case 0: return 0;
  case 1: return std::numeric_limits<std::uint64_t>::max();
  default: return random() >> (random() % 64);
  }
}

std::string any_text(std::mt19937_64& random, std::size_t longest) {
  constexpr std::string_view pieces[] = {
    "a", "Z9", ".", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x8C\x8A", "\\u2028", "\\n", "-", "_"};
  std::string out;
  for (auto left = random() % (longest + 1); left > 0; --left)
    out += pieces[random() % std::size(pieces)];
  return out;
}

} // namespace

SCENARIO("frames have the bytes that a plain encoder gives, for any event") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  std::string frames = "before";
  std::string expected = frames;
  for (int round = 0; round < 3000; ++round) {
    event e;
    e.workspace = any_text(random, round % 100 == 0 ? 1000 : 40);
    e.incarnation = epoch{any_number(random)};
    e.at = offset{any_number(random)};
    e.global = position{any_number(random)};
    e.time = timestamp{static_cast<std::int64_t>(any_number(random))};
    e.type = any_text(random, round % 100 == 1 ? 1000 : 20);
    e.turn = any_text(random, 20);
    e.data = "{\"text\":\"" + any_text(random, round % 10 ? 100 : 5000) + "\"}";
    if (random() % 2)
      e.raw = std::make_shared<const std::string>(any_text(random, 50));
    for (auto& byte : e.hash)
      byte = static_cast<std::uint8_t>(random());
    const auto with_raw = random() % 2 == 0;
    auto view = event_view::of(e);
    if (round % 5 == 0)
      view.hash = nullptr;
    const auto envelope = plain_envelope(e, with_raw, view.hash != nullptr);
    // Behind what is there already, as in a piece of many.
    append_sse(frames, view, with_raw);
    expected += "id: " + std::to_string(e.incarnation.value) + "-" + std::to_string(e.at.value)
                + "\nevent: " + e.type + "\ndata: " + envelope + "\n\n";
    append_envelope(frames, view, with_raw);
    expected += envelope;
    REQUIRE(frames == expected);
    if (frames.size() > 100'000)
      frames = expected = "";
  }
}

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
