#include "storage/hash_chain.hpp"
#include "storage/record_codec.hpp"

#include "tests/storage/support.hpp"

using namespace tidemark;
using namespace tidemark::testing;

namespace {

std::string hex(const std::string& bytes) {
  return to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

digest counting_digest() {
  digest hash{};
  for (std::size_t i = 0; i < hash.size(); ++i)
    hash[i] = static_cast<std::uint8_t>(i);
  return hash;
}

const std::string counting_hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

} // namespace

SCENARIO("an event is stored as the same bytes for ever") {
  records::event_record e;
  e.global = position{300};
  e.time = timestamp{0x0102030405060708};
  e.hash = counting_digest();
  e.type = "a.b";
  e.turn = "t";
  e.data = "{}";
  const auto plain = records::encode(e);
  CHECK(hex(plain)
        == "01"
           "4214fd11"
           "ac02"
           "0102030405060708"
             + counting_hex
             + "03612e62"
               "0174"
               "027b7d"
               "00");

  e.raw = "r";
  CHECK(hex(records::encode(e)).substr(10)
        == "ac02"
           "0102030405060708"
             + counting_hex
             + "03612e62"
               "0174"
               "027b7d"
               "01"
               "0172");
  e.raw = {};
  e.blob = {counting_digest(), 300};
  CHECK(hex(records::encode(e)).substr(10)
        == "ac02"
           "0102030405060708"
             + counting_hex
             + "03612e62"
               "0174"
               "027b7d"
               "02"
             + counting_hex + "ac02");
}

SCENARIO("an event without its content is stored as the same bytes for ever, as a newer version") {
  records::event_record e;
  e.global = position{300};
  e.time = timestamp{0x0102030405060708};
  e.hash = counting_digest();
  e.type = "a.b";
  e.data = "{}";
  e.emptied = counting_digest();
  const auto record = records::encode(e);
  CHECK(hex(record).starts_with("02"));
  CHECK(hex(record).substr(10)
        == "ac02"
           "0102030405060708"
             + counting_hex
             + "03612e62"
               "00"
               "027b7d"
               "03"
             + counting_hex);
  const auto decoded = records::decode_event(record);
  REQUIRE(decoded);
  CHECK(decoded->emptied == counting_digest());
  CHECK(decoded->data == "{}");
}

SCENARIO("streams and commits are stored as the same bytes for ever") {
  stream_info stream;
  stream.id = stream_id{7};
  stream.head = offset{128};
  stream.trimmed = offset{1};
  stream.head_hash = counting_digest();
  stream.trimmed_hash = counting_digest();
  stream.ended = true;
  const auto trimmed = hex(records::encode(stream));
  CHECK(trimmed.starts_with("02"));
  CHECK(trimmed.substr(10)
        == "07"
           "8001"
           "01"
             + counting_hex + "01" + counting_hex);
  stream.trimmed = offset{0};
  const auto whole = hex(records::encode(stream));
  CHECK(whole.starts_with("01"));
  CHECK(whole.substr(10)
        == "07"
           "8001"
           "00"
             + counting_hex + "01");
  const records::commit_record commit{
    timestamp{1}, {{stream_id{7}, offset{127}, 2}, {stream_id{8}, offset{1}, 1}}};
  CHECK(hex(records::encode(commit)).substr(10)
        == "0000000000000001"
           "02"
           "077f02"
           "080101");
  CHECK(commit.events() == 3);
}

SCENARIO("what is encoded decodes to the same, and no damage of one byte goes unseen") {
  const auto seed = random_seed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  const std::string data(random() % 300, 'd');
  const std::string raw(random() % 300 + 1, 'r');
  records::event_record e;
  e.global = position{random()};
  e.time = timestamp{-5};
  e.hash = counting_digest();
  e.type = "item.completed";
  e.data = data;
  e.raw = raw;
  const auto record = records::encode(e);
  const auto decoded = records::decode_event(record);
  REQUIRE(decoded.has_value());
  CHECK(decoded->global == e.global);
  CHECK(decoded->time == e.time);
  CHECK(decoded->hash == e.hash);
  CHECK(decoded->type == e.type);
  CHECK(decoded->turn.empty());
  CHECK(decoded->data == data);
  CHECK(decoded->raw == raw);
  for (std::size_t i = 0; i < record.size(); ++i) {
    auto damaged = record;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (random() % 8)));
    REQUIRE_FALSE(records::decode_event(damaged).has_value());
    REQUIRE_FALSE(records::decode_event(record.substr(0, i)).has_value());
  }
}

SCENARIO("a record of a newer version is told apart from a damaged one") {
  auto record = records::encode(records::commit_record{});
  record[0] = 2;
  CHECK(records::decode_commit(record).error().code == errc::newer_format);
  record[0] = 1;
  record[6] = 'x';
  CHECK(records::decode_commit(record).error().code == errc::corrupt);
}

SCENARIO("the hash chain is the documented one") {
  sha256_hasher hasher;
  // printf abc | sha256sum
  CHECK(to_hex(hasher.of("abc"))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const auto number = [](char last) { return std::string(7, '\0') + last; };
  // payload: 8-byte lengths before turn and data, then 32 and SHA256(raw)
  const auto raw_hash = hasher.of("raw");
  const auto payload_bytes =
    number(1) + "t" + number(2) + "{}" + number(32)
    + std::string{reinterpret_cast<const char*>(raw_hash.data()), raw_hash.size()};
  CHECK(hasher.payload("t", "{}", "raw") == hasher.of(payload_bytes));
  CHECK(hasher.payload("t", "{}", {}) == hasher.of(number(1) + "t" + number(2) + "{}" + number(0)));

  const auto payload = hasher.payload("t", "{}", {});
  const auto link_bytes =
    std::string(32, '\0') + number(1) + "w" + number(3) + number(4) + number(5) + number(3) + "a.b"
    + std::string{reinterpret_cast<const char*>(payload.data()), payload.size()};
  CHECK(hasher.link({}, {"w", epoch{3}, offset{4}, timestamp{5}, "a.b", payload})
        == hasher.of(link_bytes));
}
