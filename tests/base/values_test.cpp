#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/redactor.hpp"
#include "base/time.hpp"
#include "base/uuid.hpp"

#include <catch2/catch.hpp>

#include <set>

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
}

SCENARIO("secrets are masked in plain and in JSON-escaped form, short values are left alone") {
  const redactor mask{{"sk-secret-1", "with\"quote\\and\nline", "short"}};
  CHECK(mask.concerns("x sk-secret-1 y"));
  CHECK(mask.apply("x sk-secret-1 y sk-secret-1") == "x [secret] y [secret]");
  CHECK(mask.apply(R"({"k":"with\"quote\\and\nline"})") == R"({"k":"[secret]"})");
  CHECK_FALSE(mask.concerns("short"));
  CHECK(redactor{}.apply("anything") == "anything");
}
