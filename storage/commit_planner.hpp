#pragma once

#include "storage/event_log.hpp"
#include "storage/hash_chain.hpp"

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace tidemark {

/// A stretch of one stream inside a commit.
struct commit_run {
  stream_id stream;
  offset first;
  std::uint64_t count = 0;

  friend bool operator==(const commit_run&, const commit_run&) = default;
};

/// Gives the requests of one commit their places, each judged against the ones before it.
/// Pure: the log publishes `touched()` only once the batch is durable, and drops it otherwise.
class commit_planner {
public:
  /// `next` is the position of the first event; `hasher` outlives the planner.
  commit_planner(position next, sha256_hasher& hasher)
    : first_(next),
      next_(next),
      hasher_(hasher) {}

  [[nodiscard]] bool knows(stream_id stream) const { return known_.contains(stream); }

  /// Makes a stream known; `newest` is the newest epoch of its name.
  void know(const stream_info& stream, epoch newest);

  /// Why `request` cannot be accepted now, or nothing.
  [[nodiscard]] std::optional<append_refusal> judge(const append_request& request) const;

  /// A refusal of `request` for a reason of the log's own, with the facts of its stream.
  [[nodiscard]] append_refusal refuse(const append_request& request, error why) const;

  /// Places the events of a request that `judge` has nothing against.
  appended accept(const append_request& request);

  /// The streams as they are after the accepted requests, by id; only those that got events. Valid
  /// while the planner is.
  [[nodiscard]] std::vector<const stream_info*> touched() const;
  [[nodiscard]] std::span<const commit_run> runs() const noexcept { return runs_; }
  [[nodiscard]] position first() const noexcept { return first_; }
  [[nodiscard]] position next() const noexcept { return next_; }
  /// Of all events placed so far.
  [[nodiscard]] timestamp newest() const noexcept { return newest_; }

private:
  struct known_stream {
    stream_info info;
    epoch newest;
    bool touched = false;
  };

  position first_;
  position next_;
  timestamp newest_;
  sha256_hasher& hasher_;
  std::unordered_map<stream_id, known_stream> known_;
  std::vector<commit_run> runs_;
};

} // namespace tidemark
