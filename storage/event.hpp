#pragma once

#include "base/ids.hpp"
#include "base/time.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// SHA-256.
using digest = std::array<std::uint8_t, 32>;

/// Immutable text that several owners share without copying. Null means "none".
using shared_text = std::shared_ptr<const std::string>;

/// An event as its author hands it to the log, before it has a place.
struct new_event {
  std::string type;     ///< `turn.queued` …; docs/events.md
  std::string turn;     ///< id of the turn it belongs to; empty if none
  timestamp time;       ///< never before the previous event of the stream
  std::string data;     ///< one JSON object made by dump_json: readers get these bytes as they are
  shared_text raw = {}; ///< the agent's own line, byte for byte, if the event came from one
  std::vector<std::string> terms = {}; ///< what `event_log::search` finds it by; no zero bytes
};

/// An event as the log holds it. Immutable; shared between threads by `event_ptr`.
struct event {
  std::string workspace; ///< the stream's name
  stream_id stream;
  epoch incarnation;
  offset at;
  position global;
  timestamp time;
  std::string type;
  std::string turn;
  std::string data;
  shared_text raw;
  digest hash{}; ///< of this record and the one before it in the stream (storage/hash_chain.hpp)
};

using event_ptr = std::shared_ptr<const event>;

/// A stored event without copies. Every view is valid only inside the visitor that receives it.
struct event_view {
  std::string_view workspace;
  stream_id stream;
  epoch incarnation;
  offset at;
  position global;
  timestamp time;
  std::string_view type;
  std::string_view turn;
  std::string_view data;
  std::string_view raw; ///< empty if there is none or if it was not asked for
  const digest* hash = nullptr;
  /// If retention has removed what the event held: the hash of that (`sha256_hasher::payload`); else null.
  const digest* emptied = nullptr;

  static event_view of(const event& e) {
    return {e.workspace,   e.stream,
            e.incarnation, e.at,
            e.global,      e.time,
            e.type,        e.turn,
            e.data,        e.raw ? std::string_view{*e.raw} : std::string_view{},
            &e.hash,       nullptr};
  }
};

} // namespace tidemark
