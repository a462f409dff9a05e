#pragma once

#include "base/json.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace tidemark {

/// The longest prefix of at most `limit` bytes that ends between two UTF-8 sequences.
std::string_view utf8_prefix(std::string_view text, std::size_t limit);
/// The longest suffix of at most `limit` bytes that begins between two UTF-8 sequences.
std::string_view utf8_suffix(std::string_view text, std::size_t limit);

/// Stores `text` under `key`; over `limit` bytes only its beginning, marked `truncated` with the
/// full `size`, so that one event never outgrows the log's limit.
void put_bounded(json& object, const char* key, std::string_view text, std::size_t limit);

/// Largest text or tool input that an event holds; the rest stands in the agent's raw line.
inline constexpr std::size_t max_event_text = 4 << 20;

} // namespace tidemark
