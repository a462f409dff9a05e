#include "base/utf8_stream.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <utility>

namespace tidemark {
namespace {

/// Length that the first byte of a sequence announces; 1 for what begins none.
std::size_t announced(unsigned char first) {
  if (first >= 0xF0 && first <= 0xF4)
    return 4;
  if (first >= 0xE0)
    return first < 0xF0 ? 3 : 1;
  return first >= 0xC2 ? 2 : 1;
}

/// Bytes at the end that a further piece may complete to a sequence.
std::size_t unfinished(std::string_view text) {
  const auto longest = std::min<std::size_t>(3, text.size());
  for (std::size_t back = 1; back <= longest; ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) != 0x80)
      return announced(byte) > back ? back : 0;
  }
  return 0;
}

} // namespace

std::string utf8_stream::take(std::string_view bytes) {
  auto text = std::exchange(kept_, {});
  text += bytes;
  const auto whole = text.size() - unfinished(text);
  kept_ = text.substr(whole);
  text.resize(whole);
  return repair_utf8(text);
}

std::string utf8_stream::finish() {
  return repair_utf8(std::exchange(kept_, {}));
}

} // namespace tidemark
