#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace tidemark {

/// A webhook: its workspace and its name.
using webhook_key = std::pair<std::string, std::string>;

/// Who may deliver at what time, so that a receiver that answers does not wait for those that do not
/// (decision 036). Pure: time is given.
///
/// There are `quick` places for deliveries that have just begun, and `4 * quick` for slow ones: those
/// that take longer than `patience`, which then leave their quick place to others, and all of webhooks
/// that are `slow` already: their last attempt failed or took longer. The latter begin only while less
/// than half of the slow places are taken.
/// Each kind waits in its own line, in the order of coming; a webhook stands in it once.
///
/// So however many receivers fail, none that answers waits for them. `n` that begin to hang at the
/// same time cost the others `patience` for each `quick` of them, and the time-out of one attempt if
/// `n` is more than the slow places; after that time-out they count as slow.
class delivery_places {
public:
  using clock = std::chrono::steady_clock;
  static constexpr std::size_t slow_per_quick = 4;

  delivery_places(std::size_t quick, clock::duration patience);

  /// True if `who` may begin now, because there is room and nobody of its kind waits. Else it stands
  /// in line, and `next` names it when its turn has come.
  bool ask(const webhook_key& who, bool slow, clock::time_point now);

  /// Takes a place for this delivery; after `ask` or `next`.
  void begin(std::uint64_t delivery, bool slow, clock::time_point now);
  /// Frees the place. Numbers that hold none are ignored.
  void end(std::uint64_t delivery);

  /// Takes out of its line who may begin now; those that are not slow come first.
  std::optional<webhook_key> next(clock::time_point now);

  /// When a quick place that somebody waits for becomes free although no delivery ends.
  [[nodiscard]] std::optional<clock::time_point> next_change() const;

private:
  struct line {
    std::deque<webhook_key> order;
    std::set<webhook_key> members;

    void join(const webhook_key& who);
    webhook_key leave();
  };

  void age(clock::time_point now);
  [[nodiscard]] bool room_for(bool slow) const;

  std::size_t quick_;
  clock::duration patience_;
  std::map<std::uint64_t, clock::time_point> begun_; // delivery -> when; holders of quick places
  std::set<std::uint64_t> slow_;
  line quick_line_;
  line slow_line_;
};

} // namespace tidemark
