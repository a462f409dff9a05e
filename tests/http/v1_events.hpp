#pragma once

#include "base/json.hpp"
#include "http/v1_translation.hpp"
#include "storage/event.hpp"

#include <chrono>
#include <string>
#include <vector>

// Events of one turn as a workspace and the Claude adapter write them, and what a v1 client reads.
namespace v1_test {

using namespace tidemark;
using namespace std::chrono_literals;
using v1_clock = v1_translation::clock;

inline json item(const std::string& id, const std::string& kind, json more = json::object()) {
  auto made = json::object();
  made["id"] = id;
  made["kind"] = kind;
  made["role"] = kind == "tool_result" ? "tool" : "assistant";
  made["status"] = "in_progress";
  made.update(more);
  return made;
}

inline json object(std::initializer_list<std::pair<const char*, json>> members) {
  auto made = json::object();
  for (const auto& [key, value] : members)
    made[key] = value;
  return made;
}

/// Feeds one turn's events to a translation and keeps the frames.
class turn_script {
public:
  explicit turn_script(std::string turn = "t1") : turn_(std::move(turn)) {}

  turn_script& event(const std::string& type, const json& data, const std::string& turn = "t1") {
    const auto text = dump_json(data);
    event_view e;
    e.incarnation = epoch{3};
    e.at = offset{++offset_};
    e.type = type;
    e.turn = turn;
    e.data = text;
    take(translation.on_event(e, now));
    return *this;
  }
  turn_script& start() { return event("turn.started", object({{"attempt", 1}})); }
  turn_script& started(const json& what) { return event("item.started", object({{"item", what}})); }
  turn_script& completed(json what, const std::string& status = "completed") {
    what["status"] = status;
    return event("item.completed", object({{"item", what}}));
  }
  turn_script& delta(const std::string& id, const std::string& text) {
    return event("item.delta", object({{"item", id}, {"text", text}}));
  }
  /// A text block that arrives in pieces.
  turn_script& block(const std::string& id, const std::vector<std::string>& pieces,
                     json more = json::object()) {
    started(item(id, "message", more));
    std::string whole;
    for (const auto& piece : pieces) {
      delta(id, piece);
      whole += piece;
    }
    more["text"] = whole;
    return completed(item(id, "message", more));
  }
  turn_script& call(const std::string& tool_use_id, json more = json::object()) {
    more["tool_use_id"] = tool_use_id;
    more["name"] = "Bash";
    more["input"] = object({{"command", "ls"}});
    return started(item("call-" + tool_use_id, "tool_call", more));
  }
  turn_script& result(const std::string& tool_use_id, const json& content,
                      json more = json::object()) {
    more["tool_use_id"] = tool_use_id;
    completed(item("call-" + tool_use_id, "tool_call", more));
    started(item("result-" + tool_use_id, "tool_result", more));
    more["content"] = content;
    more["is_error"] = false;
    return completed(item("result-" + tool_use_id, "tool_result", more));
  }
  turn_script& succeed(const std::string& text) {
    return event("turn.completed", object({{"turn", turn_},
                                           {"outcome", "succeeded"},
                                           {"text", text},
                                           {"error", nullptr},
                                           {"session", "session-1"},
                                           {"usage", object({{"input", 1}, {"output", 2}})}}));
  }
  turn_script& end(const std::string& outcome, const std::string& code, const std::string& message,
                   const std::string& text = {}) {
    auto why = object(
      {{"code", code}, {"message", message}, {"retryable", true}, {"details", json::object()}});
    return event("turn.completed",
                 object({{"turn", turn_}, {"outcome", outcome}, {"text", text}, {"error", why}}));
  }
  turn_script& pass(v1_clock::duration time) {
    now += time;
    take(translation.on_time(now));
    return *this;
  }
  void take(std::vector<v1_frame> more) {
    for (auto& frame : more)
      frames.push_back(std::move(frame));
  }

  [[nodiscard]] std::string joined() const {
    std::string text;
    for (const auto& frame : frames)
      text += string_or(frame.body, "chunk");
    return text;
  }
  [[nodiscard]] std::vector<std::string> types() const {
    std::vector<std::string> all;
    for (const auto& frame : frames)
      all.push_back(string_or(frame.body, "type"));
    return all;
  }
  [[nodiscard]] std::size_t count(const std::string& type) const {
    std::size_t n = 0;
    for (const auto& frame : frames)
      n += string_or(frame.body, "type") == type ? 1 : 0;
    return n;
  }
  [[nodiscard]] const json& last() const { return frames.back().body; }

  v1_clock::time_point now{};
  v1_translation translation{{"t1", "err-1", 60s}, v1_clock::time_point{}};
  std::vector<v1_frame> frames;

private:
  std::string turn_;
  std::uint64_t offset_ = 0;
};

} // namespace v1_test
