#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/redactor.hpp"
#include "base/stream_redactor.hpp"
#include "base/time.hpp"
#include "base/uuid.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <ctime>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace tidemark;

SCENARIO("a workspace id is checked once, at the border") {
  for (auto good : {"default", "a", "A-b_c.9", "-x", "_"})
    CHECK(workspace_id::parse(good).has_value());
  CHECK(workspace_id::parse(std::string(128, 'a')).has_value());
  for (auto bad : {"", ".", "..", ".hidden", "a/b", "a b", "a\nb", "ä", "a\"b", "a%2e"})
    CHECK_FALSE(workspace_id::parse(bad).has_value());
  CHECK_FALSE(workspace_id::parse(std::string(129, 'a')).has_value());
  CHECK_FALSE(workspace_id::parse(std::string_view{"a\0b", 3}).has_value());
}

SCENARIO("an error tells its causes") {
  const auto inner = error{errc::locked, "the directory is held by process 7"};
  const auto outer = fail(errc::io, "cannot open the log", inner).value();
  CHECK(outer.describe() == "cannot open the log: the directory is held by process 7");
  CHECK(to_string(outer.code) == "io");
}

SCENARIO("ids made by one process are unique and sort by the order they were made") {
  std::string last;
  std::set<std::string> seen;
  for (int i = 0; i < 20'000; ++i) {
    // The clock stands still and even goes back.
    const auto id = new_uuid(timestamp{1'700'000'000'000'000'000 - i});
    CHECK(id.size() == 36);
    CHECK(id[14] == '7');
    CHECK(last < id);
    CHECK(seen.insert(id).second);
    last = id;
  }
}

SCENARIO("times are shown in UTC with milliseconds") {
  CHECK(iso8601(timestamp{0}) == "1970-01-01T00:00:00.000Z");
  CHECK(iso8601(timestamp{1'764'435'600'042'999'999}) == "2025-11-29T17:00:00.042Z");
  CHECK(iso8601(timestamp{-1}) == "1969-12-31T23:59:59.999Z");
  using limits = std::numeric_limits<std::int64_t>;
  CHECK(iso8601(timestamp{limits::max()}) == "2262-04-11T23:47:16.854Z");
  CHECK(iso8601(timestamp{limits::min()}) == "1677-09-21T00:12:43.145Z");
  AND_THEN("they agree with the C library for any moment") {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    for (int round = 0; round < 20'000; ++round) {
      // Half of them at the turn of a day, where a carry shows.
      constexpr std::int64_t day = 86'400'000'000'000;
      auto nanoseconds = static_cast<std::int64_t>(random());
      if (round % 2 == 0)
        nanoseconds = nanoseconds / day * day + static_cast<std::int64_t>(random() % 3) - 1;
      CAPTURE(nanoseconds);
      const auto milliseconds =
        std::chrono::floor<std::chrono::milliseconds>(std::chrono::nanoseconds{nanoseconds});
      const auto whole = std::chrono::floor<std::chrono::seconds>(milliseconds);
      const std::time_t seconds = whole.count();
      std::tm parts{};
      ::gmtime_r(&seconds, &parts);
      char expected[64];
      const auto length = std::strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S", &parts);
      std::snprintf(expected + length, sizeof expected - length, ".%03dZ",
                    static_cast<int>((milliseconds - whole).count()));
      REQUIRE(iso8601(timestamp{nanoseconds}) == expected);
    }
  }
}

SCENARIO("secrets are masked in plain and in JSON-escaped form, short values are left alone") {
  const redactor mask{{"sk-secret-1", "with\"quote\\and\nline", "short"}};
  CHECK(mask.concerns("x sk-secret-1 y"));
  CHECK(mask.apply("x sk-secret-1 y sk-secret-1") == "x [secret] y [secret]");
  CHECK(mask.apply(R"({"k":"with\"quote\\and\nline"})") == R"({"k":"[secret]"})");
  CHECK_FALSE(mask.concerns("short"));
  CHECK(redactor{}.apply("anything") == "anything");
}

SCENARIO("secrets that overlap are masked as one, those that touch one by one") {
  const redactor mask{{"abcd1234", "1234wxyz"}};
  CHECK(mask.apply("<abcd1234wxyz>") == "<[secret]>");
  CHECK(mask.apply("abcd1234abcd1234") == "[secret][secret]");
}

SCENARIO("only what may become a secret is held back") {
  const redactor mask{{"SECSPLIT0TOKEN77XYZ"}};
  stream_redactor stream;
  CHECK(stream.push(mask, "no secret ") == "no secret ");
  CHECK(stream.push(mask, "SEC") == "");
  CHECK(stream.push(mask, "OND ") == "SECOND ");
  CHECK(stream.push(mask, "The token is SECSPL") == "The token is ");
  CHECK(stream.holds_back());
  CHECK(stream.push(mask, "IT0TOK") == "");
  CHECK(stream.push(mask, "EN77XYZ ok, SE") == "[secret] ok, ");
  CHECK(stream.finish(mask) == "SE");
  CHECK_FALSE(stream.holds_back());
}

SCENARIO("however a text is split, its masked pieces join to the masked whole") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random{seed};
  const auto below = [&](std::size_t n) { return random() % n; };
  // Few letters, so that secrets overlap themselves and each other and begin everywhere.
  const auto word = [&](std::size_t size) {
    std::string made;
    while (made.size() < size)
      made += "ab\"\n"[below(4)];
    return made;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> secrets;
    for (auto count = 1 + below(4); count > 0; --count)
      secrets.push_back(word(8 + below(5)));
    std::string whole;
    for (auto count = below(12); count > 0; --count) {
      const auto& secret = secrets[below(secrets.size())];
      whole += below(2) == 0 ? word(below(9)) : secret.substr(below(3), secret.size() - below(3));
    }
    const redactor mask{secrets};
    stream_redactor stream;
    std::string joined;
    for (std::size_t at = 0; at < whole.size();) {
      const auto size = 1 + below(7);
      joined += stream.push(mask, std::string_view{whole}.substr(at, size));
      at += size;
    }
    joined += stream.finish(mask);
    CAPTURE(secrets, whole);
    REQUIRE(joined == mask.apply(whole));
  }
}
