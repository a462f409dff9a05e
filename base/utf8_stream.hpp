#pragma once

#include <string>
#include <string_view>

namespace tidemark {

/// Turns bytes that come in any pieces into text: a UTF-8 sequence that is split between two pieces
/// arrives whole, and what is no UTF-8 becomes U+FFFD. The joined text is that of the joined bytes
/// (`repair_utf8`, base/json.hpp), however they were split.
class utf8_stream {
public:
  /// The text up to the last sequence that is complete; at most three bytes are kept for later.
  std::string take(std::string_view bytes);
  /// What was kept, when nothing follows.
  std::string finish();

private:
  std::string kept_;
};

} // namespace tidemark
