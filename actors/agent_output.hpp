#pragma once

#include "actors/session_protocol.hpp"
#include "base/redactor.hpp"
#include "base/stream_redactor.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Masks the secrets in everything of a report that reaches the log or a client: the one place that
/// all output of agents goes through (architecture, promise 8).
void mask_secrets(const redactor& secrets, session_report& report);

/// Masks secrets that an agent says in several deltas: the joined deltas of an item are its masked
/// text. What is held back comes with the item's next delta or before its completion.
class delta_mask {
public:
  /// Takes the events that one line made.
  void apply(const redactor& secrets, std::vector<agent_event>& events);
  /// Nothing more comes: adds what is still held back.
  void finish(const redactor& secrets, std::vector<agent_event>& events);

private:
  bool apply(const redactor& secrets, agent_event& delta);
  void release(const redactor& secrets, const std::string& item, std::vector<agent_event>& to);

  std::map<std::string, stream_redactor> held_; ///< by item; only where something is held back
};

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
