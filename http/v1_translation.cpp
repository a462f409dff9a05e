#include "http/v1_translation.hpp"

#include "http/problem.hpp"
#include "http/v1_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace tidemark {

namespace {

constexpr std::string_view not_logged_in = "AUTHENTICATION_FAILED";

/// `item` as an object of its own, or the data itself for authors that leave the wrapper out.
const json& item_of(const json& data) {
  const auto& wrapped = object_at(data, "item");
  return wrapped.empty() ? data : wrapped;
}

std::string item_id_of_delta(const json& data) {
  for (const auto* key : {"item", "item_id", "id"})
    if (auto id = string_at(data, key))
      return *id;
  return string_or(object_at(data, "item"), "id");
}

bool is_answer_text(const json& item) {
  return string_or(item, "kind") == "message"
         && string_or(item, "role", "assistant") == "assistant";
}

std::string tool_id(const json& item) {
  for (const auto* key : {"tool_use_id", "native_id", "id"})
    if (auto id = string_at(item, key); id && !id->empty())
      return *id;
  return {};
}

/// The text of a message item, whichever way its author wrote it.
std::string text_of(const json& item) {
  if (auto text = string_at(item, "text"))
    return *text;
  const auto found = item.find("content");
  return found == item.end() ? std::string{} : flatten_content(*found);
}

std::string without_nul(std::string_view text) {
  std::string out{text};
  std::erase(out, '\0');
  return out;
}

std::string failure_message(const json& turn, const json& error, std::string_view how) {
  auto message = string_or(error, "message");
  if (message.empty())
    message = string_or(turn, "text");
  if (!message.empty())
    return message;
  if (how == "cancelled")
    return "the task was cancelled";
  if (how == "interrupted")
    return "the task was interrupted";
  return "the agent gave no reason for the failure";
}

v1_failure failure_of(const json& turn) {
  const auto how = string_or(turn, "outcome", "failed");
  const auto& error = object_at(turn, "error");
  v1_failure why;
  why.code = string_or(error, "code");
  if (how == "cancelled")
    why.code = "TASK_CANCELLED";
  else if (why.code.empty())
    why.code = how == "interrupted" ? "TASK_INTERRUPTED" : "CLAUDE_CLI_ERROR_RESULT";
  why.message = failure_message(turn, error, how);
  why.retryable = bool_or(error, "retryable", false);
  if (const auto& details = object_at(error, "details"); !details.empty())
    why.details = details;
  return why;
}

} // namespace

void append_v1_frame(std::string& out, const v1_frame& frame) {
  if (!frame.id.empty()) {
    out += "id: ";
    out += frame.id;
    out += '\n';
  }
  out += "data: ";
  out += dump_json(frame.body);
  out += "\n\n";
}

std::string flatten_content(const json& content) {
  if (content.is_null())
    return {};
  if (content.is_string())
    return content.get<std::string>();
  if (content.is_object()) {
    if (auto text = string_at(content, "text"))
      return *text;
    return string_or(content, "type") == "image" ? std::string{"[image]"} : dump_json(content);
  }
  if (!content.is_array())
    return dump_json(content);
  std::string out;
  for (const auto& block : content) {
    const auto text = flatten_content(block);
    if (!out.empty() && !text.empty())
      out += '\n';
    out += text;
  }
  return out;
}

v1_translation::v1_translation(settings how, clock::time_point now)
  : how_(std::move(how)),
    now_(now),
    last_sign_(now) {}

std::vector<v1_frame> v1_translation::on_event(const event_view& e, clock::time_point now) {
  frames out;
  if (over_)
    return out;
  if (e.turn != how_.turn) {
    queue_moved_ = queue_moved_ || (queued_ && e.type.starts_with("turn."));
    return out;
  }
  now_ = now;
  event_id_ = fmt::format("{}-{}", e.incarnation.value, e.at.value);
  const auto is_ours =
    e.type.starts_with("item.") || e.type.starts_with("turn.") || e.type == "session.started";
  if (!is_ours)
    return out;
  const auto parsed = parse_json(e.data);
  const auto data = parsed && parsed->is_object() ? *parsed : json::object();
  if (e.type == "turn.started") {
    queued_ = false;
    items_.clear();
    open_calls_.clear();
  } else if (e.type == "session.started") {
    session_ = string_or(data, "session", session_);
  } else if (e.type == "item.started") {
    on_item_started(item_of(data), out);
  } else if (e.type == "item.delta") {
    on_item_delta(data, out);
  } else if (e.type == "item.completed") {
    on_item_completed(item_of(data), out);
  } else if (e.type == "turn.completed") {
    on_turn_completed(data, out);
  }
  return out;
}

void v1_translation::on_item_started(const json& item, frames& out) {
  const auto kind = string_or(item, "kind");
  if (kind == "tool_call")
    return on_tool_call(item, out);
  if (!is_answer_text(item))
    return;
  items_[string_or(item, "id")] = open_item{kind, string_or(item, "parent").empty(), {}};
}

void v1_translation::on_item_delta(const json& data, frames& out) {
  const auto found = items_.find(item_id_of_delta(data));
  if (found == items_.end() || !found->second.ours)
    return; // not the answer; or of unknown kind, and then the completed item brings it
  add_text(found->second, string_or(data, "text"), out);
}

void v1_translation::on_item_completed(const json& item, frames& out) {
  const auto kind = string_or(item, "kind");
  if (kind == "tool_call") {
    on_tool_call(item, out); // if its start was not heard
    open_calls_.erase(tool_id(item));
    return;
  }
  if (kind == "tool_result")
    return on_tool_result(item, out);
  if (!is_answer_text(item))
    return;
  const auto id = string_or(item, "id");
  auto block = open_item{kind, string_or(item, "parent").empty(), {}};
  if (const auto known = items_.find(id); known != items_.end()) {
    block = std::move(known->second);
    items_.erase(known);
  }
  if (!block.ours)
    return;
  const auto whole = text_of(item);
  if (whole.starts_with(block.streamed))
    add_text(block, std::string_view{whole}.substr(block.streamed.size()), out);
  last_block_ = whole;
}

void v1_translation::on_tool_call(const json& item, frames& out) {
  const auto id = tool_id(item);
  if (id.empty() || !calls_.insert(id).second)
    return;
  open_calls_.insert(id);
  if (string_or(item, "parent").empty())
    call_since_text_ = text_sent_;
  auto body = json::object();
  body["type"] = "tool_call";
  body["tool_use_id"] = id;
  body["name"] = string_or(item, "name");
  body["input"] = object_at(item, "input");
  add(std::move(body), out);
  last_sign_ = now_;
}

void v1_translation::on_tool_result(const json& item, frames& out) {
  const auto id = tool_id(item);
  open_calls_.erase(id);
  const auto content = item.find("content");
  auto body = json::object();
  body["type"] = "tool_result";
  body["tool_use_id"] = id;
  body["content"] =
    without_nul(content == item.end() ? string_or(item, "text") : flatten_content(*content));
  body["is_error"] = bool_or(item, "is_error", false);
  add(std::move(body), out);
  last_sign_ = now_;
}

void v1_translation::add_text(open_item& block, std::string_view text, frames& out) {
  const auto begins = block.streamed.empty();
  block.streamed += text;
  const auto clean = without_nul(text);
  if (clean.empty())
    return;
  add_chunk(begins && call_since_text_ ? "\n\n" + clean : clean, out);
}

void v1_translation::add_chunk(std::string_view text, frames& out) {
  auto body = json::object();
  body["type"] = "chunk";
  body["chunk"] = std::string{text};
  add(std::move(body), out);
  last_sign_ = now_;
  if (text.empty())
    return;
  text_sent_ = true;
  call_since_text_ = false;
}

void v1_translation::on_turn_completed(const json& data, frames& out) {
  queued_ = false;
  session_ = string_or(data, "session", session_);
  const auto text = without_nul(string_or(data, "text"));
  if (string_or(data, "outcome") == "succeeded") {
    if (!text_sent_ && !text.empty())
      add_chunk(text, out);
    return finish(data, out);
  }
  const auto why = failure_of(data);
  if (why.code != not_logged_in)
    return add_error(why, out);
  const auto words = text.empty() ? without_nul(why.message) : text;
  const auto said = !last_block_.empty()
                    && (words.find(last_block_) != std::string::npos
                        || last_block_.find(words) != std::string::npos);
  if (!said)
    add_chunk((text_sent_ ? "\n\n" : "") + words, out);
  finish(data, out);
}

void v1_translation::finish(const json& turn, frames& out) {
  if (!text_sent_) {
    v1_failure why;
    why.code = "CLAUDE_CLI_NO_PARSEABLE_OUTPUT";
    why.message = "the agent ended without any text";
    return add_error(std::move(why), out);
  }
  over_ = true;
  auto body = json::object();
  body["type"] = "done";
  body["session_id"] = session_;
  body["turn_id"] = how_.turn;
  body["usage"] = object_at(turn, "usage");
  body["duration_ms"] = int_or(turn, "duration_ms", 0);
  add(std::move(body), out);
}

void v1_translation::add_error(v1_failure why, frames& out) {
  over_ = true;
  auto body = json::object();
  body["type"] = "error";
  body["message"] = why.message;
  body["error"] =
    to_json(error_info{how_.err_id, why.code, why.message, why.retryable, why.details});
  add(std::move(body), out);
  failure_ = std::move(why);
}

void v1_translation::add(json body, frames& out) {
  out.push_back({event_id_, std::move(body)});
}

std::vector<v1_frame> v1_translation::on_queue(const queue_reply& queue, timestamp wall_clock) {
  const auto is_ours = [&](const queued_task& t) { return t.turn == how_.turn; };
  const auto place = std::find_if(queue.waiting.begin(), queue.waiting.end(), is_ours);
  const auto ahead = static_cast<std::size_t>(place - queue.waiting.begin());
  if (over_ || !queued_ || place == queue.waiting.end() || (ahead == 0 && !queue.current))
    return {};
  if (ahead + 1 == told_position_)
    return {};
  told_position_ = ahead + 1;
  auto body = json::object();
  body["type"] = "queued";
  body["position"] = told_position_;
  body["queue_length"] = queue.waiting.size();
  body["queued_count"] = queue.waiting.size();
  auto current = task_object(queue.current.value_or(queued_task{}), wall_clock);
  for (const auto* key : {"elapsed_seconds", "wait_seconds"})
    current[key] = static_cast<std::int64_t>(number_or(current, key, 0));
  body["current_task"] = std::move(current);
  frames out;
  out.push_back({{}, std::move(body)});
  return out;
}

std::vector<v1_frame> v1_translation::on_failure(v1_failure why) {
  frames out;
  event_id_.clear();
  if (!over_)
    add_error(std::move(why), out);
  return out;
}

std::vector<v1_frame> v1_translation::on_time(clock::time_point now) {
  frames out;
  if (now < next_due())
    return out;
  now_ = now;
  event_id_.clear();
  add_chunk({}, out);
  return out;
}

v1_translation::clock::time_point v1_translation::next_due() const {
  const auto waits = queued_ || !open_calls_.empty();
  return waits && !over_ ? last_sign_ + how_.proof_of_life : clock::time_point::max();
}

bool v1_translation::queue_moved() {
  return std::exchange(queue_moved_, false);
}

} // namespace tidemark
