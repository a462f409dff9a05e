#pragma once

#include "actors/session_protocol.hpp"
#include "base/redactor.hpp"

#include <string>
#include <string_view>

namespace tidemark {

/// Masks the secrets in everything of a report that reaches the log or a client: the one place that
/// all output of agents goes through (architecture, promise 8).
void mask_secrets(const redactor& secrets, session_report& report);

/// The end of a stream of text, bounded: what an agent said on stderr before it failed.
class text_tail {
public:
  explicit text_tail(std::size_t limit) : limit_(limit) {}

  void add(std::string_view bytes);
  void clear() { kept_.clear(); }
  /// At most `limit` bytes of valid UTF-8, starting at a line if it was cut, without secrets.
  [[nodiscard]] std::string text(const redactor& secrets) const;

private:
  /// Kept beyond the limit, so that a secret is masked whole before its beginning is cut off.
  static constexpr std::size_t margin = 4096;

  std::size_t limit_;
  std::string kept_;
};

} // namespace tidemark
