#pragma once

#include "storage/commit_planner.hpp"
#include "storage/event_log.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::records {

/// Every stored record is: version (1 byte), CRC-32 of the rest (4 bytes big-endian), fields.
/// Decoding fails with `corrupt` (cut, checksum) or `newer_format` (unknown version). Golden bytes
/// in tests/storage/record_codec_test.cpp hold the format still.

constexpr std::uint8_t version = 1;
/// Of records that retention has touched: events without their content, streams without their first
/// events. Builds from before retention refuse them.
constexpr std::uint8_t retained_version = 2;

/// Where a raw line went that is too long to stand in the record.
struct blob_ref {
  digest hash{};
  std::uint64_t size = 0;

  friend bool operator==(const blob_ref&, const blob_ref&) = default;
};

/// An event as stored under its key. Views point into the decoded record or the encoder's input.
struct event_record {
  position global;
  timestamp time;
  digest hash{};
  std::string_view type;
  std::string_view turn;
  std::string_view data;
  std::string_view raw; ///< empty if there is none or if it is in `blob`
  std::optional<blob_ref> blob;
  std::optional<digest> emptied = {}; ///< the hash of what it held, if retention has removed that
};

/// Replaces what is in `record`, so that a caller with many pays for the memory once.
void encode(const event_record& e, std::string& record);
std::string encode(const event_record& e);
expected<event_record> decode_event(std::string_view record);

/// A stream's state; its name and epoch are in the key.
std::string encode(const stream_info& stream);
expected<stream_info> decode_stream(std::string_view name, epoch incarnation,
                                    std::string_view record);

/// What one commit wrote, in order. Times of commits never go back.
struct commit_record {
  timestamp time;
  std::vector<commit_run> runs;

  [[nodiscard]] std::uint64_t events() const;
};

std::string encode(const commit_record& commit);
expected<commit_record> decode_commit(std::string_view record);

} // namespace tidemark::records
