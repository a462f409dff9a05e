#pragma once

#include "base/error.hpp"
#include "base/json.hpp"
#include "storage/event_log.hpp"
#include "storage/signing_key.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Where one stream ended when a checkpoint was taken. The hash covers every event before it.
struct stream_mark {
  std::string workspace;
  epoch incarnation;
  offset head;
  offset trimmed;
  digest hash{};

  friend bool operator==(const stream_mark&, const stream_mark&) = default;
};

/// What the log held at one moment, in so few bytes that it can be kept where the server cannot change it:
/// later, nobody can alter, remove or cut off an event before these heads unseen (decision 028).
struct log_checkpoint {
  epoch incarnation; ///< of the log
  position head;
  timestamp time; ///< when it was taken; to the millisecond
  std::vector<stream_mark> streams;

  friend bool operator==(const log_checkpoint&, const log_checkpoint&) = default;
};

/// The checkpoint of a log as it is.
log_checkpoint checkpoint_of(const log_heads& heads, timestamp time);

/// The one text of a checkpoint, which is what is signed: JSON with members in byte order, no blanks,
/// streams in byte order of their names, one a line, a line feed at the end. Two checkpoints have the same
/// text only if they are the same.
std::string canonical_text(const log_checkpoint& checkpoint);

/// Errors: `invalid_argument`.
expected<log_checkpoint> parse_checkpoint(const json& value);

/// A checkpoint as it is kept in a file, and who vouches for it.
struct signed_checkpoint {
  log_checkpoint content;
  std::optional<signature> by; ///< empty if nobody signed it
};

/// The file: a line `{"checkpoint":`, the canonical text, a line with the signature. So the signed bytes are
/// the file without its first and last line, for anybody with openssl to check.
std::string checkpoint_file(const log_checkpoint& checkpoint, const signing_key* key);

/// Reads such a file, or one with the same JSON laid out otherwise. Errors: `invalid_argument`.
expected<signed_checkpoint> parse_checkpoint_file(std::string_view text);

/// Whether the holder of `key` vouches for it. Errors: `unauthorized` (not signed, signed with another key,
/// or altered since).
expected<void> check_signature(const signed_checkpoint& checkpoint, const verifying_key& key);

/// What a log says now of a stream that a checkpoint names.
struct stream_standing {
  stream_info stream;
  chain_report chain; ///< with the checkpoint's head as mark
};

/// How the log contradicts the checkpoint: the stream is missing (`now` is empty), another one of that name,
/// shorter, altered, or removed so far that it cannot be told. Nothing if it holds what it held then.
std::optional<std::string> contradiction(const stream_mark& then,
                                         const std::optional<stream_standing>& now);

} // namespace tidemark
