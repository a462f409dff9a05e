#pragma once

#include "base/error.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tidemark {

/// A 64-bit number of one kind, so that an offset is never passed where a position is meant.
template <class Tag>
struct ordinal {
  std::uint64_t value = 0;

  constexpr ordinal() = default;
  constexpr explicit ordinal(std::uint64_t v) : value(v) {}

  friend constexpr auto operator<=>(ordinal, ordinal) = default;
  [[nodiscard]] constexpr ordinal next() const { return ordinal{value + 1}; }
  [[nodiscard]] constexpr ordinal plus(std::uint64_t n) const { return ordinal{value + n}; }
};

/// Place of an event in its workspace's stream: 1, 2, 3 … 0 stands for "before the first".
using offset = ordinal<struct offset_tag>;
/// Place of an event in the whole log: 1, 2, 3 … over all streams, in commit order.
using position = ordinal<struct position_tag>;
/// Incarnation of a workspace: 1 at first, one more each time the name is created again after delete.
using epoch = ordinal<struct epoch_tag>;
/// Identifies one incarnation's stream inside the log; never reused.
using stream_id = ordinal<struct stream_id_tag>;

/// A workspace's name as clients know it: `[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}`
/// (contracts: workspace API v1, Endpoints). Safe as one path component and in a log line.
class workspace_id {
public:
  static expected<workspace_id> parse(std::string_view text);

  workspace_id() = default;
  [[nodiscard]] const std::string& str() const noexcept { return text_; }
  friend auto operator<=>(const workspace_id&, const workspace_id&) = default;

private:
  explicit workspace_id(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// Identifies one turn: a UUID version 7, so ids sort by the time of acceptance.
class turn_id {
public:
  static expected<turn_id> parse(std::string_view text);
  /// Wraps text that came out of our own log and was checked when it went in.
  static turn_id trusted(std::string text) { return turn_id{std::move(text)}; }

  turn_id() = default;
  [[nodiscard]] const std::string& str() const noexcept { return text_; }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  friend auto operator<=>(const turn_id&, const turn_id&) = default;

private:
  explicit turn_id(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

} // namespace tidemark

template <class Tag>
struct std::hash<tidemark::ordinal<Tag>> {
  std::size_t operator()(tidemark::ordinal<Tag> x) const noexcept {
    return std::hash<std::uint64_t>{}(x.value);
  }
};
