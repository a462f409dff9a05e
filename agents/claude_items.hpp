#pragma once

#include "agents/event_sink.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

/// Turns Claude Code's messages into items: text, reasoning, tool calls and their results.
///
/// Keeps: an item is started once and completed once; joined deltas equal the completed text; what
/// came by deltas is not shown again when the whole message follows. A tool call starts when its
/// input is complete (the pieces of streamed input are left out) and completes with its result.
class claude_items {
public:
  explicit claude_items(id_source& ids) : ids_(ids) {}

  void begin_turn();
  void on_stream_event(const json& line, event_sink& out);
  void on_assistant(const json& line, event_sink& out);
  void on_user(const json& line, event_sink& out);

  /// A message that stands in no assistant line, such as the result of a slash command.
  void add_message(std::string_view text, event_sink& out);

  /// Completes what is open; status `interrupted`, or `completed` for text whose end was seen.
  void close_open(event_sink& out);

  /// Text of the main conversation's last message in this turn.
  [[nodiscard]] const std::string& last_text() const { return last_text_; }
  /// All text of the main conversation in this turn.
  [[nodiscard]] const std::string& turn_text() const { return turn_text_; }
  /// Our id of the item that a tool call made; empty if it is not known.
  [[nodiscard]] std::string item_of_call(std::string_view tool_use_id) const;

private:
  struct text_item {
    std::string id;     ///< empty until its first character: empty blocks make no item
    std::string kind;   ///< `message` or `reasoning`
    std::string parent; ///< our id of the subagent's tool call; empty in the main conversation
    std::string native; ///< the message's id
    std::string text;
    bool stopped = false; ///< its end was streamed
    bool completed = false;
  };
  struct message_stream {
    std::string native;
    std::map<std::int64_t, text_item> blocks; ///< by index; tool calls are not among them
  };
  struct whole_message;

  static json shape(const text_item& item, std::string_view status);
  void on_block(const json& block, const whole_message& message, event_sink& out);
  void on_whole_text(std::string_view kind, std::string_view text, const whole_message& message,
                     event_sink& out);
  void on_tool_use(const json& block, const whole_message& message, event_sink& out);
  void on_tool_result(const json& block, const std::string& parent, event_sink& out);
  void on_user_text(const json& line, const std::string& text, const std::string& parent,
                    event_sink& out);
  void open_block(const json& event, message_stream& stream, const std::string& parent,
                  event_sink& out);
  void append(text_item& item, std::string_view text, event_sink& out);
  void complete(text_item& item, std::string_view status, bool synthetic, event_sink& out);
  void close_stream(message_stream& stream, event_sink& out);
  text_item* streamed(std::string_view kind, const whole_message& message);
  void remember_text(const text_item& item);
  [[nodiscard]] std::string parent_of(const json& line) const;

  id_source& ids_;
  std::map<std::string, message_stream> streams_; ///< by parent_tool_use_id; "" is the main one
  std::map<std::string, json, std::less<>>
    open_calls_; ///< by tool_use_id, or our id if it has none
  std::map<std::string, std::string, std::less<>>
    calls_; ///< tool_use_id -> our id, also of closed calls
  std::optional<std::string> last_message_;
  std::string last_text_;
  std::string turn_text_;
};

} // namespace tidemark
