#pragma once

#include "base/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace v1_test {

/// Splits text as Python's `str.splitlines()` does, which is how the existing client reads streams.
inline std::vector<std::string> python_lines(std::string_view text) {
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto rest = text.substr(i);
    std::size_t length = 0;
    if (rest.starts_with("\r\n"))
      length = 2;
    else if ((byte >= 0x0A && byte <= 0x0D) || (byte >= 0x1C && byte <= 0x1E))
      length = 1;
    else if (rest.starts_with("\xC2\x85"))
      length = 2;
    else if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9"))
      length = 3;
    if (length == 0) {
      lines.back() += text[i];
      continue;
    }
    i += length - 1;
    lines.emplace_back();
  }
  return lines;
}

/// The objects of a stream as the existing client parses them; what it cannot parse is dropped.
inline std::vector<tidemark::json> python_client(std::string_view stream) {
  std::vector<tidemark::json> seen;
  for (const auto& line : python_lines(stream)) {
    if (!line.starts_with("data:"))
      continue;
    auto parsed = tidemark::json::parse(line.substr(5), nullptr, false);
    if (parsed.is_object())
      seen.push_back(std::move(parsed));
  }
  return seen;
}

} // namespace v1_test
