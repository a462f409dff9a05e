#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The parts of a request target (RFC 3986), as pure functions.
namespace tidemark {

/// Decodes `%XX`; with `plus_is_space` also `+` (form encoding, for queries). Empty if a `%` is not
/// followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

struct target_parts {
  std::string_view path;  ///< still encoded
  std::string_view query; ///< without the `?`
};
/// Splits `/a/b?x=1`. An absolute form (`http://host/a`) loses its scheme and host; a fragment is dropped.
target_parts split_target(std::string_view target);

/// The parameters in order. Names and values that are wrongly encoded are kept as they came.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);

/// Host of an authority without its port: `[::1]:7021` gives `::1`, `Example.org:80` `example.org`.
/// What has something else than a port behind its host comes back whole, and names no host.
std::string host_of(std::string_view authority);

} // namespace tidemark
