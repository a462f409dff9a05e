#include "base/json.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace tidemark;

SCENARIO("JSON is read as agents and clients really send it") {
  CHECK(parse_json(R"({"a":1})").value()["a"] == 1);
  CHECK_FALSE(parse_json("{").has_value());
  CHECK_FALSE(parse_json("").has_value());
  CHECK_FALSE(parse_json("now using node").has_value());

  SECTION("lone surrogates and malformed UTF-8 become U+FFFD, pairs stay whole") {
    const auto text = [](std::string_view s) { return parse_json(s).value().get<std::string>(); };
    CHECK(text(R"("a\ud83db")")
          == "a\xEF\xBF\xBD"
             "b");
    CHECK(text(R"("\ude00")") == "\xEF\xBF\xBD");
    CHECK(text(R"("\ud83d\ude00")") == "\xF0\x9F\x98\x80");
    CHECK(text(R"("\\ud83d")") == "\\ud83d");
    CHECK(text("\"\xC3(\"") == "\xEF\xBF\xBD(");
    CHECK(text("\"\xED\xA0\x80\"") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  }
  SECTION("deep nesting is refused instead of exhausting the stack") {
    const std::string deep(100'000, '[');
    CHECK_FALSE(parse_json(deep).has_value());
    CHECK(parse_json(std::string(400, '[') + std::string(400, ']')).has_value());
  }
  SECTION("more values than allowed are refused by name, text and keys do not count") {
    const auto many = parse_json("[1,2,3,[],{}]", 5);
    REQUIRE_FALSE(many.has_value());
    CHECK(many.error().code == errc::too_large);
    CHECK(many.error().message.find("5 values") != std::string::npos);
    CHECK(parse_json(R"({"a,[{":",,,,[[[\",,","b":1})", 3).has_value());
    CHECK_FALSE(parse_json("[1,2,3]", 3).has_value());
  }
  SECTION("a NUL does not hide what follows it") {
    using namespace std::string_literals;
    CHECK_FALSE(parse_json("{}\0{}"s).has_value());
    CHECK_FALSE(parse_json("{}\0"s).has_value());
  }
  SECTION("numbers out of range do not throw") {
    CHECK(parse_json(R"({"n":18446744073709551616})").has_value());
    CHECK_NOTHROW(parse_json(R"({"n":1e999})"));
  }
}

SCENARIO("what we write survives readers that split lines like Python's splitlines") {
  const std::string nasty =
    "a\u0085b\u2028c\u2029d\x01\x0b\x0c\x1c\x1d\x1e\x7f\u009f 世界 🙂 \r\n";
  const auto line = dump_json(json(nasty));
  for (std::string_view breaker : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9", "\n", "\r", "\x0b",
                                   "\x0c", "\x1c", "\x1d", "\x1e", "\x7f"})
    CHECK(line.find(breaker) == std::string::npos);
  CHECK(line.find("世界 🙂") != std::string::npos);
  CHECK(parse_json(line).value().get<std::string>() == nasty);
  CHECK_NOTHROW(dump_json(json(std::string{"\xFF\xFE"})));
}

SCENARIO("any bytes survive a round trip through repair, quote and parse") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random{seed};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (auto n = random() % 24; n > 0; --n)
      bytes += static_cast<char>(random());
    const auto repaired = repair_utf8(bytes);
    CHECK(repair_utf8(repaired) == repaired);
    CHECK(parse_json(quote_json(repaired)).value().get<std::string>() == repaired);
    CHECK_NOTHROW(parse_json(bytes));
  }
}

SCENARIO("fields of the wrong type read as their default") {
  const auto odd = parse_json(R"({"s":1,"n":"x","b":null,"o":[],"a":{},"big":1e300})").value();
  CHECK(string_or(odd, "s", "d") == "d");
  CHECK(int_or(odd, "n", 7) == 7);
  CHECK(int_or(odd, "big", 7) == 7);
  CHECK(bool_or(odd, "b", true));
  CHECK(object_at(odd, "o").empty());
  CHECK(array_at(odd, "a").empty());
  CHECK(string_or(json(3), "s", "d") == "d");
}
