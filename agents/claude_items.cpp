#include "agents/claude_items.hpp"

#include "agents/bounded_text.hpp"

#include <utility>

namespace tidemark {

namespace {

/// Closed calls are remembered because a background subagent may still speak; not for ever.
constexpr std::size_t remembered_calls = 4096;
constexpr std::size_t longest_notice = 8 << 10;

void emit_item(std::string type, json item, bool synthetic, event_sink& out) {
  auto data = json::object();
  data["item"] = std::move(item);
  if (synthetic)
    data["synthetic"] = true;
  out.emit(std::move(type), std::move(data));
}

/// What a person would read of a tool result: text blocks as lines, other blocks by name.
std::string flatten(const json& content) {
  if (content.is_null())
    return {};
  if (content.is_string())
    return content.get<std::string>();
  if (!content.is_array())
    return dump_json(content);
  std::string text;
  for (const auto& block : content) {
    if (!text.empty())
      text += '\n';
    if (const auto words = string_at(block, "text"))
      text += *words;
    else if (block.is_string())
      text += block.get<std::string>();
    else
      text += "[" + string_or(block, "type", "unknown content") + "]";
  }
  return text;
}

/// A tool's input as an object; one that would outgrow an event is left to the raw line.
json input_of(const json& block, const event_sink& out) {
  const auto& input = object_at(block, "input");
  if (out.line_size() <= max_event_text)
    return input;
  const auto size = dump_json(input).size();
  return size <= max_event_text ? input : json::object({{"truncated", true}, {"size", size}});
}

} // namespace

struct claude_items::whole_message {
  const json& line;
  const json& message;
  std::string thread; ///< parent_tool_use_id; "" in the main conversation
  std::string parent; ///< our id of that tool call
  std::string native;
};

json claude_items::shape(const text_item& item, std::string_view status) {
  json made = {
    {"id", item.id}, {"kind", item.kind}, {"role", "assistant"}, {"status", std::string{status}}};
  if (!item.parent.empty())
    made["parent"] = item.parent;
  if (!item.native.empty())
    made["native_id"] = item.native;
  return made;
}

void claude_items::begin_turn() {
  last_message_.reset();
  last_text_.clear();
  turn_text_.clear();
  if (calls_.size() > remembered_calls)
    calls_.clear();
}

std::string claude_items::item_of_call(std::string_view tool_use_id) const {
  const auto found = calls_.find(tool_use_id);
  return found == calls_.end() ? std::string{} : found->second;
}

std::string claude_items::parent_of(const json& line) const {
  const auto native = string_or(line, "parent_tool_use_id");
  const auto known = item_of_call(native);
  return known.empty() ? native : known;
}

void claude_items::on_stream_event(const json& line, event_sink& out) {
  const auto& event = object_at(line, "event");
  const auto type = string_or(event, "type");
  auto& stream = streams_[string_or(line, "parent_tool_use_id")];
  if (type == "message_start") {
    close_stream(stream, out);
    stream.native = string_or(object_at(event, "message"), "id");
    return;
  }
  if (type == "content_block_start")
    return open_block(event, stream, parent_of(line), out);
  const auto found = stream.blocks.find(int_or(event, "index", -1));
  if (found == stream.blocks.end() || found->second.completed)
    return;
  auto& item = found->second;
  if (type == "content_block_stop") {
    item.stopped = true;
  } else if (type == "content_block_delta") {
    const auto& delta = object_at(event, "delta");
    append(item, string_or(delta, item.kind == "message" ? "text" : "thinking"), out);
  }
}

void claude_items::open_block(const json& event, message_stream& stream, const std::string& parent,
                              event_sink& out) {
  const auto& block = object_at(event, "content_block");
  const auto type = string_or(block, "type");
  if (type != "text" && type != "thinking")
    return;
  text_item item;
  item.kind = type == "text" ? "message" : "reasoning";
  item.parent = parent;
  item.native = stream.native;
  const auto [at, fresh] = stream.blocks.try_emplace(int_or(event, "index", -1), std::move(item));
  if (fresh)
    append(at->second, string_or(block, type.c_str()), out);
}

void claude_items::append(text_item& item, std::string_view text, event_sink& out) {
  if (text.empty())
    return;
  if (item.id.empty()) {
    item.id = ids_.next();
    emit_item("item.started", shape(item, "in_progress"), false, out);
  }
  item.text += text;
  json delta = {{"item", item.id}};
  put_bounded(delta, "text", text, max_event_text);
  out.emit("item.delta", std::move(delta));
}

void claude_items::complete(text_item& item, std::string_view status, bool synthetic,
                            event_sink& out) {
  item.completed = true;
  if (item.id.empty())
    return;
  auto done = shape(item, status);
  put_bounded(done, "text", item.text, max_event_text);
  emit_item("item.completed", std::move(done), synthetic, out);
  remember_text(item);
}

void claude_items::remember_text(const text_item& item) {
  if (item.kind != "message" || !item.parent.empty())
    return;
  if (last_message_ != item.native) {
    last_message_ = item.native;
    last_text_.clear();
  }
  last_text_ += item.text;
  turn_text_ += item.text;
}

void claude_items::on_assistant(const json& line, event_sink& out) {
  const auto& message = object_at(line, "message");
  const whole_message whole{line, message, string_or(line, "parent_tool_use_id"), parent_of(line),
                            string_or(message, "id")};
  if (const auto text = string_at(message, "content"))
    return on_whole_text("message", *text, whole, out);
  const auto& content = array_at(message, "content");
  for (const auto& block : content)
    on_block(block, whole, out);
  if (content.empty())
    out.opaque("assistant", "empty");
}

void claude_items::on_block(const json& block, const whole_message& message, event_sink& out) {
  const auto type = string_or(block, "type");
  if (type == "text")
    on_whole_text("message", string_or(block, "text"), message, out);
  else if (type == "thinking")
    on_whole_text("reasoning", string_or(block, "thinking"), message, out);
  else if (type == "tool_use")
    on_tool_use(block, message, out);
  else
    out.opaque("assistant", type);
}

claude_items::text_item* claude_items::streamed(std::string_view kind,
                                                const whole_message& message) {
  const auto stream = streams_.find(message.thread);
  if (stream == streams_.end())
    return nullptr;
  // Without a name of its own (its start was lost) the stream can only be this message's.
  const auto& native = stream->second.native;
  if (!native.empty() && native != message.native)
    return nullptr;
  for (auto& [index, item] : stream->second.blocks)
    if (item.kind == kind && !item.completed)
      return &item;
  return nullptr;
}

void claude_items::on_whole_text(std::string_view kind, std::string_view text,
                                 const whole_message& message, event_sink& out) {
  if (auto* item = streamed(kind, message)) {
    // Readers have the deltas already: the whole text may only add to them.
    if (item->id.empty() ? !text.empty() : text.starts_with(item->text))
      append(*item, text.substr(item->text.size()), out);
    return complete(*item, "completed", false, out);
  }
  if (text.empty())
    return;
  text_item item{ids_.next(), std::string{kind}, message.parent, message.native, std::string{text}};
  emit_item("item.started", shape(item, "in_progress"), false, out);
  complete(item, "completed", false, out);
}

void claude_items::on_tool_use(const json& block, const whole_message& message, event_sink& out) {
  const auto native = string_or(block, "id");
  if (!native.empty() && calls_.contains(native))
    return; // said twice
  const auto id = ids_.next();
  json item = {{"id", id},
               {"kind", "tool_call"},
               {"role", "assistant"},
               {"status", "in_progress"},
               {"name", string_or(block, "name")},
               {"input", input_of(block, out)},
               {"tool_use_id", native.empty() ? id : native}};
  if (!native.empty())
    item["native_id"] = native;
  if (!message.parent.empty())
    item["parent"] = message.parent;
  if (!native.empty())
    calls_[native] = id;
  open_calls_[native.empty() ? id : native] = item;
  emit_item("item.started", std::move(item), false, out);
}

void claude_items::on_user(const json& line, event_sink& out) {
  const auto& message = object_at(line, "message");
  const auto parent = parent_of(line);
  if (const auto text = string_at(message, "content"))
    return on_user_text(line, *text, parent, out);
  for (const auto& block : array_at(message, "content")) {
    const auto type = string_or(block, "type");
    if (type == "tool_result")
      on_tool_result(block, parent, out);
    else if (type == "text")
      on_user_text(line, string_or(block, "text"), parent, out);
    else
      out.opaque("user", type);
  }
}

void claude_items::on_tool_result(const json& block, const std::string& parent, event_sink& out) {
  const auto native = string_or(block, "tool_use_id");
  const auto is_error = bool_or(block, "is_error", false);
  if (auto call = open_calls_.find(native); call != open_calls_.end()) {
    auto item = std::move(call->second);
    open_calls_.erase(call);
    item["status"] = is_error ? "failed" : "completed";
    emit_item("item.completed", std::move(item), false, out);
  }
  json item = {{"id", ids_.next()},       {"kind", "tool_result"}, {"role", "tool"},
               {"status", "in_progress"}, {"tool_use_id", native}, {"native_id", native}};
  if (!parent.empty())
    item["parent"] = parent;
  if (auto call = item_of_call(native); !call.empty())
    item["call"] = std::move(call);
  emit_item("item.started", item, false, out);
  item["status"] = is_error ? "failed" : "completed";
  item["is_error"] = is_error;
  const auto content = block.find("content");
  put_bounded(item, "content", content == block.end() ? std::string{} : flatten(*content),
              max_event_text);
  emit_item("item.completed", std::move(item), false, out);
}

void claude_items::on_user_text(const json& line, const std::string& text,
                                const std::string& parent, event_sink& out) {
  if (bool_or(line, "isReplay", false) || text.empty())
    return;
  if (parent.empty()) {
    const auto interrupted = text.starts_with("[Request interrupted by user");
    return out.notice(interrupted ? "interrupted" : "injected_text",
                      utf8_prefix(text, longest_notice));
  }
  json item = {{"id", ids_.next()},
               {"kind", "message"},
               {"role", "user"},
               {"status", "in_progress"},
               {"parent", parent}};
  emit_item("item.started", item, false, out);
  item["status"] = "completed";
  put_bounded(item, "text", text, max_event_text);
  emit_item("item.completed", std::move(item), false, out);
}

void claude_items::add_message(std::string_view text, event_sink& out) {
  text_item item{ids_.next(), "message", {}, last_message_.value_or(""), std::string{text}};
  emit_item("item.started", shape(item, "in_progress"), true, out);
  complete(item, "completed", true, out);
}

void claude_items::close_stream(message_stream& stream, event_sink& out) {
  for (auto& [index, item] : stream.blocks)
    if (!item.completed)
      complete(item, item.stopped ? "completed" : "interrupted", true, out);
  stream.blocks.clear();
}

void claude_items::close_open(event_sink& out) {
  for (auto& [thread, stream] : streams_)
    close_stream(stream, out);
  streams_.clear();
  for (auto& [native, item] : open_calls_) {
    item["status"] = "interrupted";
    emit_item("item.completed", std::move(item), true, out);
  }
  open_calls_.clear();
}

} // namespace tidemark
