#pragma once

#include "base/needle_index.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Masks known secrets in text on its way into the log, error messages and API answers.
///
/// A secret is found in its plain form and in its JSON-escaped form. Secrets that overlap are masked
/// as one. Values shorter than `minimum_length` are not masked: they would hit innocent text.
/// The cost follows the text, however many secrets there are.
/// Immutable after construction, so it may be shared between threads.
class redactor {
public:
  static constexpr std::size_t minimum_length = 8;
  static constexpr std::string_view mask = "[secret]";

  redactor() = default;
  explicit redactor(const std::vector<std::string>& secrets);

  /// True if there is nothing to mask.
  [[nodiscard]] bool empty() const { return index_.empty(); }
  /// True if `text` holds a secret; the fast path for text that does not.
  [[nodiscard]] bool concerns(std::string_view text) const;
  [[nodiscard]] std::string apply(std::string_view text) const;
  /// How much of `text`, the beginning of a longer text, may be masked now: no secret reaches across
  /// that place, whatever follows. Looks at little more than the end of the text.
  [[nodiscard]] std::size_t settled(std::string_view text) const;

private:
  struct span {
    std::size_t begin;
    std::size_t end;
  };
  [[nodiscard]] std::vector<span> find(std::string_view text) const;

  needle_index index_;
};

} // namespace tidemark
