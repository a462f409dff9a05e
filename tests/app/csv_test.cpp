#include "app/csv.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;

SCENARIO("fields are quoted where RFC 4180 asks for it, and none becomes a formula") {
  CHECK(csv_record({"a", "", "b c"}) == "a,,b c\r\n");
  CHECK(csv_record({"a,b", "say \"x\"", "two\nlines"})
        == "\"a,b\",\"say \"\"x\"\"\",\"two\nlines\"\r\n");
  CHECK(csv_record({"=1+1", "-x", "@y", "+z"}) == "\"'=1+1\",\"'-x\",\"'@y\",\"'+z\"\r\n");
}
