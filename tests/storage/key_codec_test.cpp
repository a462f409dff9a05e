#include "storage/key_codec.hpp"

#include "tests/storage/support.hpp"

using namespace tidemark;
using namespace tidemark::testing;

namespace {

/// Numbers around every byte border, where a wrong byte order shows.
std::uint64_t interesting(std::mt19937_64& random) {
  const auto border = std::uint64_t{1} << (random() % 64);
  return border + random() % 3 - 1;
}

} // namespace

SCENARIO("keys sort as the numbers that they stand for") {
  const auto seed = random_seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 2000; ++round) {
    const std::pair a{stream_id{interesting(random)}, offset{interesting(random)}};
    const std::pair b{stream_id{round % 3 ? interesting(random) : a.first.value},
                      offset{interesting(random)}};
    const auto key_a = keys::event_key(a.first, a.second);
    const auto key_b = keys::event_key(b.first, b.second);
    CAPTURE(a.first.value, a.second.value, b.first.value, b.second.value);
    REQUIRE((key_a < key_b) == (a < b));
    REQUIRE(keys::parse_event_key(key_a) == a);
    auto moved = key_a;
    keys::move_event_key(moved, b.second);
    REQUIRE(moved == keys::event_key(a.first, b.second));
    const position p{a.second.value};
    const position q{b.second.value};
    REQUIRE((keys::commit_key(p) < keys::commit_key(q)) == (p < q));
    REQUIRE(keys::parse_commit_key(keys::commit_key(p)) == p);
  }
}

SCENARIO("incarnations of one name stand together, in order, and names stay in name order") {
  const std::vector<std::string> names{"a", "a-b", "a.b", "aa", "b"};
  std::string previous;
  for (const auto& name : names) {
    for (const std::uint64_t incarnation : {1ULL, 2ULL, 255ULL, 256ULL, 1ULL << 40}) {
      const auto key = keys::stream_key(name, epoch{incarnation});
      CHECK(previous < key);
      const auto parsed = keys::parse_stream_key(key);
      REQUIRE(parsed);
      CHECK(parsed->first == name);
      CHECK(parsed->second == epoch{incarnation});
      previous = key;
    }
  }
}

SCENARIO("a malformed key is not taken for a good one") {
  CHECK_FALSE(keys::parse_event_key("too short"));
  CHECK_FALSE(keys::parse_event_key(std::string(17, 'x')));
  CHECK_FALSE(keys::parse_commit_key("1234567"));
  CHECK_FALSE(keys::parse_stream_key(std::string(9, '\0')));
  CHECK_FALSE(keys::parse_stream_key("name without an epoch"));
  CHECK_FALSE(keys::is_valid_name(""));
  CHECK_FALSE(keys::is_valid_name(std::string{"a\0b", 3}));
}

SCENARIO("the end of a prefix is the first key that does not have it") {
  CHECK(keys::end_of_prefix("ab") == "ac");
  CHECK(keys::end_of_prefix("a\xFF") == "b");
  CHECK(keys::end_of_prefix("\xFF\xFF").empty());
  CHECK(keys::end_of_prefix("").empty());
}
