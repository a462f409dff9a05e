#include "actors/scrollback.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace tidemark;

SCENARIO("B78: a scrollback keeps the newest text and says how much is lost") {
  scrollback text{10};
  text.append("0123456789");
  CHECK(text.read(0, 100).text == "0123456789");
  text.append("abc");
  const auto piece = text.read(0, 100);
  CHECK(piece.text == "3456789abc");
  CHECK(piece.cut == 3);
  CHECK(piece.next == 13);
  CHECK(text.read(13, 100).text.empty());
  CHECK(text.end() == 13);
}

SCENARIO("a reader goes on where it was, however the text is cut behind it") {
  scrollback text{1000};
  std::string all;
  std::string seen;
  std::uint64_t place = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto word = std::to_string(i) + " ";
    all += word;
    text.append(word);
    if (i % 50 != 0)
      continue;
    for (auto piece = text.read(place, 64); !piece.text.empty(); piece = text.read(place, 64)) {
      REQUIRE(piece.cut == 0);
      seen += piece.text;
      place = piece.next;
    }
  }
  CHECK(all.compare(0, seen.size(), seen) == 0);
  CHECK(seen.size() > all.size() - 1000);
}

SCENARIO("what a reader still needs is kept beyond the limit") {
  scrollback text{4};
  text.append("0123456789", 2);
  CHECK(text.read(2, 100).text == "23456789");
  CHECK(text.read(2, 100).cut == 0);
  text.append("ab");
  CHECK(text.read(2, 100).text == "89ab");
  CHECK(text.read(2, 100).cut == 6);
}

SCENARIO("contract, Shell: a scrollback is cut between characters only") {
  const std::string wave = "\xF0\x9F\x8C\x8A";
  for (std::size_t limit = 1; limit < 12; ++limit) {
    scrollback text{limit};
    for (int i = 0; i < 10; ++i)
      text.append(wave);
    std::string seen;
    for (auto place = text.first(); place < text.end();) {
      const auto piece = text.read(place, 5);
      REQUIRE(piece.text.size() % wave.size() == 0);
      REQUIRE(piece.next > place);
      seen += piece.text;
      place = piece.next;
    }
    CHECK(seen.size() == limit / wave.size() * wave.size());
  }
  scrollback small{100};
  small.append(wave);
  CHECK(small.read(0, 1).text == wave); // never nothing while there is something
}
