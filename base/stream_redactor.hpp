#pragma once

#include "base/redactor.hpp"

#include <string>
#include <string_view>

namespace tidemark {

/// Masks secrets in a text that comes in pieces, also those that are split over pieces: what may be
/// the beginning of a secret is held back until it is known. The joined output is the masked whole.
class stream_redactor {
public:
  /// What of the text so far may be shown now, masked; may be empty.
  std::string push(const redactor& secrets, std::string_view piece);
  /// The text is over: what was held back, masked.
  std::string finish(const redactor& secrets);
  [[nodiscard]] bool holds_back() const { return !held_.empty(); }

private:
  std::string held_;
};

} // namespace tidemark
