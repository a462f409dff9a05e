#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark {

/// The newest text that a terminal has shown. Places in it count the bytes since its beginning and
/// never change, so a reader is a number and not a queue. Pure; holds UTF-8 and is cut only between
/// sequences.
class scrollback {
public:
  /// Keeps at least the last `limit` bytes (less one sequence), and in memory twice as much at most,
  /// beside what a reader still needs.
  explicit scrollback(std::size_t limit) : limit_(limit) {}

  /// Adds text. Nothing behind `needed_from` is forgotten, whatever the limit.
  void append(std::string_view text, std::uint64_t needed_from = UINT64_MAX);

  struct piece {
    std::string text;
    std::uint64_t cut = 0;  ///< bytes before `text` that are gone and were not read
    std::uint64_t next = 0; ///< place after `text`
  };
  /// At most `most` bytes (but one sequence at least) from a place on. Precondition: from <= end().
  [[nodiscard]] piece read(std::uint64_t from, std::size_t most) const;

  /// Place after the last byte.
  [[nodiscard]] std::uint64_t end() const { return base_ + text_.size(); }
  /// Place of the first byte that is still there.
  [[nodiscard]] std::uint64_t first() const { return first_; }

private:
  std::size_t limit_;
  std::string text_;
  std::uint64_t base_ = 0;  // place of text_'s first byte
  std::uint64_t first_ = 0; // what lies before is forgotten, though it may still be in text_
};

} // namespace tidemark
