#include "storage/record_codec.hpp"

#include "storage/byte_codec.hpp"

#include <libdeflate.h>

#include <algorithm>

#include <fmt/format.h>

namespace tidemark::records {

namespace {

constexpr std::size_t header_bytes = 5;

enum raw_kind : char { no_raw = 0, inline_raw = 1, blob_raw = 2, emptied_payload = 3 };
constexpr std::uint64_t ended_flag = 1;
constexpr std::uint64_t restored_flag = 2; // the epochs before the restores follow

// libdeflate's is zlib's CRC-32, several times as fast on records of some hundred bytes.
std::uint32_t checksum(std::string_view body) {
  return ::libdeflate_crc32(0, body.data(), body.size());
}

void begin_record(std::string& record, std::size_t expected_body, std::uint8_t as = version) {
  record.clear();
  record.reserve(header_bytes + expected_body);
  record.push_back(static_cast<char>(as));
  record.append(header_bytes - 1, '\0');
}

std::string begin_record(std::size_t expected_body, std::uint8_t as = version) {
  std::string record;
  begin_record(record, expected_body, as);
  return record;
}

void seal(std::string& record) {
  const auto sum = checksum(std::string_view{record}.substr(header_bytes));
  for (std::size_t i = 0; i < 4; ++i)
    record[1 + i] = static_cast<char>(sum >> (24 - 8 * i));
}

/// The fields of a record whose version and checksum are right.
expected<bytes::reader> open_record(std::string_view record, std::uint8_t newest = version) {
  if (record.size() < header_bytes)
    return fail(errc::corrupt, "the record is cut");
  if (const auto stored = static_cast<std::uint8_t>(record[0]); stored < version || stored > newest)
    return fail(errc::newer_format,
                fmt::format("the record has version {}, this build reads {}", stored, newest));
  std::uint32_t sum = 0;
  for (std::size_t i = 1; i < header_bytes; ++i)
    sum = sum << 8 | static_cast<std::uint8_t>(record[i]);
  const auto body = record.substr(header_bytes);
  if (sum != checksum(body))
    return fail(errc::corrupt, "the record does not match its checksum");
  return bytes::reader{body};
}

void put_digest(std::string& out, const digest& hash) {
  out.append(reinterpret_cast<const char*>(hash.data()), hash.size());
}

digest take_digest(bytes::reader& in) {
  digest hash{};
  const auto stored = in.take(hash.size());
  std::copy(stored.begin(), stored.end(), hash.begin());
  return hash;
}

tl::unexpected<error> malformed() {
  return fail(errc::corrupt, "the record has a valid checksum but malformed fields");
}

} // namespace

std::string encode(const event_record& e) {
  std::string record;
  encode(e, record);
  return record;
}

void encode(const event_record& e, std::string& record) {
  begin_record(record, 96 + e.type.size() + e.turn.size() + e.data.size() + e.raw.size(),
               e.emptied ? retained_version : version);
  bytes::put_varint(record, e.global.value);
  bytes::put_fixed(record, static_cast<std::uint64_t>(e.time.nanoseconds));
  put_digest(record, e.hash);
  bytes::put_text(record, e.type);
  bytes::put_text(record, e.turn);
  bytes::put_text(record, e.data);
  if (e.emptied) {
    record.push_back(emptied_payload);
    put_digest(record, *e.emptied);
  } else if (e.blob) {
    record.push_back(blob_raw);
    put_digest(record, e.blob->hash);
    bytes::put_varint(record, e.blob->size);
  } else if (!e.raw.empty()) {
    record.push_back(inline_raw);
    bytes::put_text(record, e.raw);
  } else {
    record.push_back(no_raw);
  }
  seal(record);
}

expected<event_record> decode_event(std::string_view record) {
  auto opened = open_record(record, retained_version);
  if (!opened)
    return tl::unexpected(opened.error());
  auto& in = *opened;
  event_record e;
  e.global = position{in.varint()};
  e.time = timestamp{static_cast<std::int64_t>(in.fixed())};
  e.hash = take_digest(in);
  e.type = in.text();
  e.turn = in.text();
  e.data = in.text();
  const auto kind = in.take(1);
  if (kind == std::string_view{"\x02", 1}) {
    e.blob.emplace();
    e.blob->hash = take_digest(in);
    e.blob->size = in.varint();
  } else if (kind == std::string_view{"\x01", 1}) {
    e.raw = in.text();
  } else if (kind == std::string_view{"\x03", 1}) {
    e.emptied = take_digest(in);
  } else if (kind != std::string_view{"\0", 1}) {
    return malformed();
  }
  if (!in.complete())
    return malformed();
  return e;
}

std::string encode(const stream_info& stream) {
  const auto is_trimmed = stream.trimmed > offset{0};
  auto record = begin_record(112, is_trimmed ? retained_version : version);
  bytes::put_varint(record, stream.id.value);
  bytes::put_varint(record, stream.head.value);
  bytes::put_varint(record, stream.trimmed.value);
  put_digest(record, stream.head_hash);
  bytes::put_varint(record,
                    (stream.ended ? ended_flag : 0) | (stream.past.empty() ? 0 : restored_flag));
  if (!stream.past.empty()) {
    bytes::put_varint(record, stream.past.size());
    for (const auto& before : stream.past) {
      bytes::put_varint(record, before.incarnation.value);
      bytes::put_varint(record, before.last.value);
    }
  }
  if (is_trimmed)
    put_digest(record, stream.trimmed_hash);
  seal(record);
  return record;
}

expected<stream_info> decode_stream(std::string_view name, epoch incarnation,
                                    std::string_view record) {
  auto opened = open_record(record, retained_version);
  if (!opened)
    return tl::unexpected(opened.error());
  auto& in = *opened;
  stream_info stream;
  stream.name = name;
  stream.incarnation = incarnation;
  stream.id = stream_id{in.varint()};
  stream.head = offset{in.varint()};
  stream.trimmed = offset{in.varint()};
  stream.head_hash = take_digest(in);
  const auto flags = in.varint();
  stream.ended = (flags & ended_flag) != 0;
  if ((flags & restored_flag) != 0)
    for (auto left = in.varint(); left > 0 && in.ok(); --left) {
      past_epoch before;
      before.incarnation = epoch{in.varint()};
      before.last = offset{in.varint()};
      stream.past.push_back(before);
    }
  if (stream.trimmed > offset{0})
    stream.trimmed_hash = take_digest(in);
  if (!in.complete())
    return malformed();
  return stream;
}

std::uint64_t commit_record::events() const {
  std::uint64_t sum = 0;
  for (const auto& run : runs)
    sum += run.count;
  return sum;
}

std::string encode(const commit_record& commit) {
  auto record = begin_record(16 + 8 * commit.runs.size());
  bytes::put_fixed(record, static_cast<std::uint64_t>(commit.time.nanoseconds));
  bytes::put_varint(record, commit.runs.size());
  for (const auto& run : commit.runs) {
    bytes::put_varint(record, run.stream.value);
    bytes::put_varint(record, run.first.value);
    bytes::put_varint(record, run.count);
  }
  seal(record);
  return record;
}

expected<commit_record> decode_commit(std::string_view record) {
  auto opened = open_record(record);
  if (!opened)
    return tl::unexpected(opened.error());
  auto& in = *opened;
  commit_record commit;
  commit.time = timestamp{static_cast<std::int64_t>(in.fixed())};
  for (auto left = in.varint(); left > 0 && in.ok(); --left) {
    commit_run run;
    run.stream = stream_id{in.varint()};
    run.first = offset{in.varint()};
    run.count = in.varint();
    commit.runs.push_back(run);
  }
  if (!in.complete())
    return malformed();
  return commit;
}

} // namespace tidemark::records
