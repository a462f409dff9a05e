#include "replay/cursor.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;

namespace {

stream_info stream_with(std::uint64_t trimmed, std::uint64_t head, std::uint64_t incarnation = 3) {
  stream_info s;
  s.name = "w";
  s.id = stream_id{1};
  s.incarnation = epoch{incarnation};
  s.head = offset{head};
  s.trimmed = offset{trimmed};
  return s;
}

} // namespace

SCENARIO("a cursor is read strictly: anything else is refused, never guessed") {
  CHECK(cursor::parse("42").value().after == offset{42});
  CHECK_FALSE(cursor::parse("42").value().incarnation.has_value());
  CHECK(cursor::parse("3-42").value().incarnation == epoch{3});
  CHECK(cursor::parse("0").value().after == offset{0});
  CHECK(cursor::parse("3-42").value().str() == "3-42");
  for (auto bad : {"", "-", "-1", "1-", "-1-2", "1e3", "abc", "+1", " 1", "1 ", "1-2-3",
                   "18446744073709551616", "9223372036854775808", "1-9223372036854775808", "０"})
    CHECK_FALSE(cursor::parse(bad).has_value());
}

SCENARIO("a reader resumes exactly, or is told why it cannot") {
  const auto at = [](std::string_view text, const stream_info& s) {
    return resume_at(cursor::parse(text).value(), s);
  };

  WHEN("it names an offset below the head") {
    const auto r = at("3-5", stream_with(0, 10));
    CHECK(r.after == offset{5});
    CHECK_FALSE(r.gap);
  }
  WHEN("it is exactly at the head") {
    const auto r = at("3-10", stream_with(0, 10));
    CHECK(r.after == offset{10});
    CHECK_FALSE(r.gap);
    CHECK_FALSE(r.finished);
  }
  WHEN("it comes with another epoch") {
    CHECK(at("2-5", stream_with(0, 10)).gap == gap_reason::other_epoch);
    CHECK(at("2-5", stream_with(4, 10)).after == offset{4});
  }
  WHEN("its place was trimmed away") {
    CHECK(at("3", stream_with(4, 10)).gap == gap_reason::trimmed);
    CHECK(at("4", stream_with(4, 10)).gap == std::nullopt);
  }
  WHEN("it is beyond the head") {
    CHECK(at("3-11", stream_with(0, 10)).gap == gap_reason::ahead);
    CHECK(at("3-11", stream_with(0, 10)).after == offset{10});
  }
  WHEN("it names nothing") {
    CHECK(resume_at(std::nullopt, stream_with(4, 10)).after == offset{4});
    CHECK_FALSE(resume_at(std::nullopt, stream_with(4, 10)).gap);
  }
  WHEN("the stream has ended and it has everything") {
    auto ended = stream_with(0, 10);
    ended.ended = true;
    CHECK(at("3-10", ended).finished);
    CHECK_FALSE(at("3-9", ended).finished);
  }
}
