#pragma once

#include "storage/event_log.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tidemark {

/// Every incarnation of every stream with its head, in memory. Not synchronised: the log that owns
/// it guards it.
class stream_table {
public:
  /// The live incarnation of `name`; begins one if there is none or the last one ended.
  const stream_info& acquire(std::string_view name);

  /// No incarnation that begins from here on has an epoch below `least`.
  void begin_at(epoch least) noexcept { least_ = least; }

  /// The newest incarnation of `name`, or null.
  [[nodiscard]] const stream_info* newest(std::string_view name) const;
  [[nodiscard]] const stream_info* find(stream_id id) const;

  /// The newest incarnation with at least one event of every name, in name order.
  [[nodiscard]] std::vector<stream_info> stored() const;
  /// Every incarnation, in no order.
  [[nodiscard]] std::vector<stream_info> all() const;
  /// How many incarnations have at least one event.
  [[nodiscard]] std::size_t stored_count() const noexcept { return stored_count_; }

  /// Adds an incarnation or replaces what is known of it.
  void put(stream_info info);

  /// Takes over incarnations of `older` that got no event yet, and never hands out an id that
  /// `older` has handed out: writers that acquired a stream before the log was reopened hold them.
  void inherit_unwritten(const stream_table& older);

private:
  std::map<std::string, std::map<epoch, stream_id>, std::less<>> by_name_;
  std::unordered_map<stream_id, stream_info> by_id_;
  std::size_t stored_count_ = 0;
  stream_id next_id_{1};
  epoch least_{1};
};

} // namespace tidemark
