#pragma once

#include "storage/event_log.hpp"
#include "storage/hash_chain.hpp"
#include "storage/removal_note.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tidemark {

/// Recomputes the hash chain of one stream, event by event from its first readable one. Pure but for the
/// hashing; one thread at a time.
///
/// What retention has taken must be told by the stream itself, in events that the chain holds:
/// - the events before the first readable one by an `events.removed` that reaches as far and names the
///   hash that the chain goes on from,
/// - the content of an `item.delta` by a later `events.removed` that covers its offset. Its place, time
///   and type are still proven by its hash, over the remembered hash of its content.
/// No other event may lack its content.
class chain_check {
public:
  /// `stream` as it was before the first event is read; `mark`: the event whose hash the report is to name.
  explicit chain_check(const stream_info& stream, offset mark = offset{0});

  /// Takes the next event, read with its raw line. False: it does not match, there is nothing to add.
  bool add(const event_view& e);

  /// The stream cannot be read on at `at`.
  void fail_at(offset at, std::string problem) { found(at, std::move(problem)); }

  /// The outcome after the last event that could be read.
  chain_report finish();

private:
  bool found(offset at, std::string problem);
  void note(const event_view& e);
  void cover(offset from, offset to);
  void check_front();

  struct range {
    offset first;
    offset last;
  };

  sha256_hasher hasher_;
  stream_info stream_;
  offset mark_;
  digest previous_;
  std::vector<range> untold_;         ///< emptied events that no event has told of yet, in order
  std::optional<removal_note> front_; ///< what tells of the events before the first readable one
  chain_report report_;
};

} // namespace tidemark
