#pragma once

#include "replay/stream_outline.hpp"

#include "base/json.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tidemark::testing {

inline constexpr timestamp start{1'764'435'909'000'000'000};

/// A stream that is written event by event, and its outline.
struct written_stream {
  std::vector<event> events;
  stream_outline outline;
  timestamp now = start;

  offset add(std::string type, std::string turn, json data, std::string raw = {}) {
    event e;
    e.workspace = "w";
    e.stream = stream_id{1};
    e.incarnation = epoch{1};
    e.at = offset{events.size() + 1};
    e.time = now;
    e.type = std::move(type);
    e.turn = std::move(turn);
    e.data = dump_json(data);
    e.raw = std::make_shared<const std::string>(std::move(raw));
    e.hash[0] = static_cast<std::uint8_t>(e.at.value);
    e.hash[1] = static_cast<std::uint8_t>(e.at.value >> 8);
    events.push_back(e);
    outline.add(event_view::of(e));
    return e.at;
  }
  offset queue(const std::string& turn, bool held = false) {
    return add("turn.queued", turn, {{"options", {{"holds_result", held}}}});
  }
  offset start_item(const std::string& item, const std::string& turn) {
    return add("item.started", turn, {{"item", {{"id", item}}}});
  }
  offset delta(const std::string& item, const std::string& turn) {
    return add("item.delta", turn, {{"item", item}, {"text", "some text"}}, "a raw line");
  }
  offset end_item(const std::string& item, const std::string& turn) {
    return add("item.completed", turn, {{"item", {{"id", item}}}});
  }
  offset end(const std::string& turn, const std::string& how = "succeeded") {
    return add("turn.completed", turn, {{"outcome", how}});
  }
  /// A turn by itself; the offset of its end.
  offset whole(const std::string& turn, bool held = false) {
    queue(turn, held);
    start_item("i" + turn, turn);
    delta("i" + turn, turn);
    delta("i" + turn, turn);
    end_item("i" + turn, turn);
    return end(turn);
  }
};

} // namespace tidemark::testing
