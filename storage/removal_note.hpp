#pragma once

#include "base/json.hpp"
#include "storage/event.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

/// The type of the event that tells of a removal, before it is carried out.
inline constexpr std::string_view removal_event_type = "events.removed";
/// The only type of event that retention may empty.
inline constexpr std::string_view emptied_event_type = "item.delta";

enum class removal_kind : std::uint8_t {
  turns, ///< whole events from the front of the stream
  deltas ///< what `item.delta` events of completed items held
};
std::string_view to_string(removal_kind what);

/// What an `events.removed` event says: from which offset to which retention removes.
struct removal_note {
  removal_kind what = removal_kind::turns;
  offset from;
  offset to;                    ///< the last one that is concerned
  std::uint64_t count = 0;      ///< events concerned between them
  std::uint64_t bytes = 0;      ///< of their data and raw lines
  std::string reason;           ///< `age`, `bytes`, `turns` or `deltas`: the rule that asked for it
  json policy = json::object(); ///< the rules as they were
  std::optional<digest> hash;   ///< `turns`: of event `to`, from which the first one left follows
};

json to_json(const removal_note& note);
/// Nothing if it is not the data of an `events.removed` event.
std::optional<removal_note> removal_note_of(const json& data);

/// What readers get of a delta that retention has emptied; `item` is the id of its item.
json emptied_delta(std::string_view item);

} // namespace tidemark
