#include "app/terminal.hpp"

#include <catch2/catch.hpp>

#include <sstream>

using namespace tidemark;

SCENARIO("an agent's output cannot drive the terminal it is shown on") {
  CHECK(neutralised("\x1b]0;title\x07 plain\ttext\n") == "\\x1b]0;title\\x07 plain\ttext\n");
  CHECK(neutralised("a\rb\x7f") == "a\\x0db\\x7f");
  CHECK(neutralised("\xC2\x9B"
                    "31m")
        == "\\x9b31m");
  CHECK(neutralised("\xE2\x80\xAE"
                    "txt")
        == "\xEF\xBF\xBDtxt");
  CHECK(neutralised("\xE6\xBD\xAE \xF0\x9F\x8C\x8A \xC3\xA9")
        == "\xE6\xBD\xAE \xF0\x9F\x8C\x8A \xC3\xA9");
  CHECK(neutralised("\xFF") == "\xEF\xBF\xBD");
}

SCENARIO("colours appear only where they are wanted") {
  std::ostringstream out;
  CHECK(painted({out, out, false}, tint::red, "x") == "x");
  CHECK(painted({out, out, true}, tint::red, "x") == "\x1b[31mx\x1b[0m");
}
