// Garbage decodes to an error, never to a crash; what decodes is what its encoding decodes to; what
// is encoded comes back; a changed byte is noticed. Input: what to do (1 byte), then its material.
#include "storage/byte_codec.hpp"
#include "storage/key_codec.hpp"
#include "storage/record_codec.hpp"
#include "tests/fuzz/fuzz_input.hpp"

#include <libdeflate.h>

using namespace tidemark;
using tidemark::fuzz::require;

namespace {

bool same(const records::event_record& a, const records::event_record& b) {
  return a.global == b.global && a.time == b.time && a.hash == b.hash && a.type == b.type
         && a.turn == b.turn && a.data == b.data && a.raw == b.raw && a.blob == b.blob;
}

bool same(const stream_info& a, const stream_info& b) {
  return a.name == b.name && a.id == b.id && a.incarnation == b.incarnation && a.head == b.head
         && a.trimmed == b.trimmed && (a.trimmed == offset{0} || a.trimmed_hash == b.trimmed_hash)
         && a.head_hash == b.head_hash && a.ended == b.ended;
}

bool same(const records::commit_record& a, const records::commit_record& b) {
  return a.time == b.time && a.runs == b.runs;
}

auto decode_stream(std::string_view record) {
  return records::decode_stream("name", epoch{3}, record);
}

template <class Decode>
void survives(std::string_view record, const Decode& decode) {
  const auto first = decode(record);
  if (!first) {
    const auto code = first.error().code;
    require(code == errc::corrupt || code == errc::newer_format, "garbage is called by its name");
    return;
  }
  const auto again = records::encode(*first);
  const auto second = decode(again);
  require(second.has_value() && same(*first, *second), "what decodes is encoded the same");
}

void survives_all(std::string_view record) {
  survives(record, records::decode_event);
  survives(record, decode_stream);
  survives(record, records::decode_commit);
}

/// A record whose version and checksum are right, so that its fields are looked at.
std::string sealed(std::string_view body) {
  const auto sum = ::libdeflate_crc32(0, body.data(), body.size());
  std::string record{static_cast<char>(records::version)};
  for (int shift = 24; shift >= 0; shift -= 8)
    record.push_back(static_cast<char>(sum >> shift));
  return record.append(body);
}

digest hash_in(fuzz::input& in) {
  digest hash{};
  const auto bytes = in.take(hash.size());
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return hash;
}

/// A record with one bit of one byte changed or its end cut off is refused.
template <class Decode>
void notices_damage(const std::string& record, std::uint64_t where, const Decode& decode) {
  auto damaged = record;
  auto& byte = damaged[where % damaged.size()];
  byte = static_cast<char>(byte ^ (1 << (where / damaged.size() % 8)));
  require(!decode(damaged), "a changed bit is noticed");
  require(!decode(record.substr(0, where % record.size())), "a cut is noticed");
}

void event_comes_back(fuzz::input in) {
  const auto where = in.number(2);
  records::event_record e;
  e.global = position{in.number(8)};
  e.time = timestamp{static_cast<std::int64_t>(in.number(8))};
  e.hash = hash_in(in);
  if (in.number(1) % 2 == 1)
    e.blob = {hash_in(in), in.number(8)};
  e.type = in.take(in.number(1));
  e.turn = in.take(in.number(1));
  e.data = in.take(in.number(2));
  if (!e.blob)
    e.raw = in.rest();
  const auto record = records::encode(e);
  const auto decoded = records::decode_event(record);
  require(decoded.has_value() && same(e, *decoded), "an event comes back");
  notices_damage(record, where, records::decode_event);
}

void stream_comes_back(fuzz::input in) {
  const auto where = in.number(2);
  stream_info stream;
  stream.name = "name";
  stream.incarnation = epoch{3};
  stream.id = stream_id{in.number(8)};
  stream.head = offset{in.number(8)};
  stream.trimmed = offset{in.number(8)};
  stream.ended = in.number(1) % 2 == 1;
  stream.head_hash = hash_in(in);
  const auto record = records::encode(stream);
  const auto decoded = decode_stream(record);
  require(decoded.has_value() && same(stream, *decoded), "a stream comes back");
  notices_damage(record, where, decode_stream);
}

void commit_comes_back(fuzz::input in) {
  const auto where = in.number(2);
  records::commit_record commit;
  commit.time = timestamp{static_cast<std::int64_t>(in.number(8))};
  while (!in.empty())
    commit.runs.push_back({stream_id{in.number(5)}, offset{in.number(8)}, in.number(2)});
  const auto record = records::encode(commit);
  const auto decoded = records::decode_commit(record);
  require(decoded.has_value() && same(commit, *decoded), "a commit comes back");
  require(decoded->events() == commit.events(), "it has as many events");
  notices_damage(record, where, records::decode_commit);
}

void keys_come_back(fuzz::input in) {
  if (const auto key = keys::parse_event_key(in.rest()))
    require(keys::event_key(key->first, key->second) == in.rest(), "an event's key comes back");
  if (const auto first = keys::parse_commit_key(in.rest()))
    require(keys::commit_key(*first) == in.rest(), "a commit's key comes back");
  if (const auto key = keys::parse_stream_key(in.rest()))
    require(keys::stream_key(key->first, key->second) == in.rest(), "a stream's key comes back");
  const auto end = keys::end_of_prefix(in.rest());
  require(end.empty() || in.rest() < end, "the end of a prefix is after all that begin with it");
  require(end.empty() || std::string{in.rest()} + std::string(4, '\xFF') < end,
          "also after the last of them");
  const stream_id stream{in.number(8)};
  const offset a{in.number(8)};
  const offset b{in.number(8)};
  require((keys::event_key(stream, a) < keys::event_key(stream, b)) == (a < b),
          "keys sort as their offsets");
}

void varints_come_back(fuzz::input in) {
  const auto number = in.number(8);
  std::string bytes;
  bytes::put_varint(bytes, number);
  bytes::reader from{bytes};
  require(from.varint() == number && from.complete(), "a number comes back");
  bytes::reader garbage{in.rest()};
  while (garbage.ok() && !garbage.complete())
    garbage.varint();
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in{data, size};
  switch (in.number(1) % 7) {
  case 0: survives_all(in.rest()); break;
  case 1: survives_all(sealed(in.rest())); break;
  case 2: event_comes_back(in); break;
  case 3: stream_comes_back(in); break;
  case 4: commit_comes_back(in); break;
  case 5: keys_come_back(in); break;
  default: varints_come_back(in); break;
  }
  return 0;
}
