#include "base/time.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;

SCENARIO("times are read as RFC 3339 writes them") {
  const auto at = [](std::string_view text) {
    const auto parsed = parse_iso8601(text);
    return parsed ? iso8601(*parsed) : std::string{"refused"};
  };
  CHECK(at("2026-11-29T17:05:09.042Z") == "2026-11-29T17:05:09.042Z");
  CHECK(at("2026-11-29t17:05:09z") == "2026-11-29T17:05:09.000Z");
  CHECK(at("2026-11-29T17:05:09+02:00") == "2026-11-29T15:05:09.000Z");
  CHECK(at("2026-11-29T23:30:00.5-01:30") == "2026-11-30T01:00:00.500Z");
  CHECK(at("2026-11-29") == "2026-11-29T00:00:00.000Z");
  CHECK(at("2024-02-29") == "2024-02-29T00:00:00.000Z");
  CHECK(parse_iso8601("1970-01-01T00:00:01.000000001Z") == timestamp{1'000'000'001});
  CHECK(parse_iso8601("1970-01-01T00:00:00.1234567891Z") == timestamp{123'456'789});
  for (const auto* wrong :
       {"", "2026", "2026-11", "2026-13-01", "2026-02-30", "2023-02-29", "0000-01-01",
        "2026-11-29T", "2026-11-29T17:05", "2026-11-29T17:05:09", "2026-11-29T24:00:00Z",
        "2026-11-29T17:05:09.Z", "2026-11-29T17:05:09Zx", "2026-11-29T17:05:09+2", "+026-11-29",
        "2026-11-29T17:-5:09Z", "9999-01-01"}) {
    INFO(wrong);
    CHECK(at(wrong) == "refused");
  }
}
