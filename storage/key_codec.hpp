#pragma once

#include "base/ids.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tidemark::keys {

/// Keys sort bytewise as what they stand for sorts.

/// Family `events`: stream id and offset, 8 bytes each, big-endian.
using event_key_bytes = std::array<char, 16>;
event_key_bytes packed_event_key(stream_id stream, offset at);
std::string event_key(stream_id stream, offset at);
/// Makes `key` that of another event of the same stream.
void move_event_key(std::string& key, offset to);
std::optional<std::pair<stream_id, offset>> parse_event_key(std::string_view key);

/// Family `commits`: the position of the commit's first event, 8 bytes big-endian.
std::string commit_key(position first);
std::optional<position> parse_commit_key(std::string_view key);

/// Family `streams`: the name, a zero byte and the epoch. A name is 1 to `max_name_bytes` long and
/// has no zero byte.
constexpr std::size_t max_name_bytes = 1024;
[[nodiscard]] bool is_valid_name(std::string_view name);
std::string stream_key(std::string_view name, epoch incarnation);
std::optional<std::pair<std::string_view, epoch>> parse_stream_key(std::string_view key);

/// Family `terms`: the term, a zero byte and the position, 8 bytes big-endian. A term has no zero byte.
std::string posting_prefix(std::string_view term);
/// What the references to a long raw line, named by the hexadecimal of its hash, stand under.
std::string blob_prefix(std::string_view name);
/// Makes `key`, which begins with a prefix of so many bytes, that of another position.
void move_posting_key(std::string& key, std::size_t prefix_bytes, position to);
/// The position, if the key belongs to the term with this prefix.
std::optional<position> parse_posting_key(std::string_view key, std::string_view prefix);

/// The first key after all that start with `prefix`; empty if there is none.
std::string end_of_prefix(std::string_view prefix);

} // namespace tidemark::keys
