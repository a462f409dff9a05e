#include "actors/turn_changes.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace tidemark;

namespace {

/// Records end with a zero byte; `|` stands for it.
std::string printed(std::string text) {
  std::ranges::replace(text, '|', '\0');
  return text;
}

} // namespace

SCENARIO("what git prints of a turn's files becomes a list of them") {
  const auto changes = parse_changes(
    printed(">.|:100644 100644 1111 2222 M|b.txt|:000000 100644 0000 3333 A|bin|"
            "1\t0\tb.txt|-\t-\tbin|>./sub/r*e|:100644 000000 4444 0000 D|x y|0\t7\tx y|"));
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].path == "b.txt");
  CHECK(changes[0].what == file_change::kind::changed);
  CHECK(changes[0].added == 1);
  CHECK(changes[0].removed == 0);
  CHECK(changes[1].path == "bin");
  CHECK(changes[1].what == file_change::kind::created);
  CHECK_FALSE(changes[1].added);
  CHECK(changes[2].path == "sub/r*e/x y");
  CHECK(changes[2].what == file_change::kind::deleted);
  CHECK(changes[2].removed == 7);
}

SCENARIO("what cannot be read of it is left out") {
  for (const auto* text :
       {"", "|", "||", ">", ":|", ":M", "1|", "1\t|", "1\t2|", "\t\t|", "rubbish|>.|"})
    CHECK(parse_changes(printed(text)).size() <= 1);
  const auto broken = parse_changes(printed(">.|1\t2\t\xff\xfe.txt"));
  REQUIRE(broken.size() == 1);
  CHECK(dump_json(to_json(broken, 1)).find("\xff") == std::string::npos);
}

SCENARIO(
  "a turn that changed very many files names the first of them and says how many there are") {
  std::string text = ">.|";
  for (int i = 0; i < 1000; ++i)
    text += "1\t1\tf" + std::to_string(i) + "|";
  const auto data = to_json(parse_changes(printed(text)), 500);
  CHECK(data["files"].size() == 500);
  CHECK(data["count"] == 1000);
}
