#pragma once

#include "base/error.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

using json = nlohmann::json;

/// Parses JSON as agents and clients really send it: invalid UTF-8 and lone surrogates become
/// U+FFFD instead of an error. Objects nested deeper than 512 are refused. Never throws.
/// Errors: `invalid_argument` with the byte where parsing stopped; `too_large` if there are more
/// than `max_values` values, which is found out before memory is spent on them.
expected<json> parse_json(std::string_view text,
                          std::size_t max_values = std::numeric_limits<std::size_t>::max());

/// One line of JSON that is safe inside an SSE `data:` field and for readers that split lines like
/// Python's `str.splitlines()`: U+0085, U+2028, U+2029 and all control characters are escaped,
/// other text stays UTF-8 (contracts: workspace API v1, Streaming). Never throws.
std::string dump_json(const json& value);

/// Quotes one string the same way, without building a `json`: `"…"`.
std::string quote_json(std::string_view text);

/// The text with every malformed UTF-8 sequence replaced by U+FFFD.
std::string repair_utf8(std::string_view text);

/// Fields as agents really send them: absent, null or of another type all read as the default.
std::string string_or(const json& object, const char* key, std::string_view otherwise = {});
std::optional<std::string> string_at(const json& object, const char* key);
bool bool_or(const json& object, const char* key, bool otherwise);
std::int64_t int_or(const json& object, const char* key, std::int64_t otherwise);
double number_or(const json& object, const char* key, double otherwise);
/// The member if it is an object, else an empty object.
const json& object_at(const json& object, const char* key);
/// The member if it is an array, else an empty array.
const json& array_at(const json& object, const char* key);

} // namespace tidemark
