#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Masks known secrets in text on its way into the log, error messages and API answers.
///
/// A secret is found in its plain form and in its JSON-escaped form. Values shorter than
/// `minimum_length` are not masked: they would hit innocent text. Immutable after construction,
/// so it may be shared between threads.
class redactor {
public:
  static constexpr std::size_t minimum_length = 8;
  static constexpr std::string_view mask = "[secret]";

  redactor() = default;
  explicit redactor(const std::vector<std::string>& secrets);

  /// True if `text` holds a secret; the fast path for text that does not.
  [[nodiscard]] bool concerns(std::string_view text) const;
  [[nodiscard]] std::string apply(std::string_view text) const;

private:
  std::vector<std::string>
    needles_; // longest first, so that a secret inside another is masked whole
};

} // namespace tidemark
