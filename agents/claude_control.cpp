#include "agents/claude_control.hpp"

#include "agents/bounded_text.hpp"

#include <algorithm>
#include <utility>

namespace tidemark {

namespace {

std::string line_of(const json& message) {
  return dump_json(message) + "\n";
}

std::string success(const std::string& request, json body) {
  return line_of(
    {{"type", "control_response"},
     {"response",
      {{"subtype", "success"}, {"request_id", request}, {"response", std::move(body)}}}});
}

std::string refusal(const std::string& request, const std::string& why) {
  return line_of({{"type", "control_response"},
                  {"response", {{"subtype", "error"}, {"request_id", request}, {"error", why}}}});
}

/// Members of a request that a person needs to decide, under the names of our events.
void copy_text(const json& from, const char* key, json& to, const char* as) {
  constexpr std::size_t longest = 8 << 10;
  if (const auto text = string_at(from, key); text && !text->empty())
    to[as] = std::string{utf8_prefix(*text, longest)};
}

/// The tool by which the agent asks people for more than a permission.
constexpr std::string_view question_tool = "AskUserQuestion";

} // namespace

void claude_control::resolve(const std::string& permission, const pending_ask& ask,
                             std::string_view by, bool synthetic, event_sink& out) {
  json data = {{"permission", permission}, {"decision", "withdrawn"}, {"by", std::string{by}}};
  if (synthetic)
    data["synthetic"] = true;
  out.emit(ask.is_question ? "question.resolved" : "permission.resolved", std::move(data));
  out.out().withdrawn.push_back(permission);
}

void claude_control::begin_turn() {
  interrupts_.clear();
  acknowledged_ = false;
}

void claude_control::on_request(const json& line, event_sink& out) {
  const auto request = string_or(line, "request_id");
  const auto& body = object_at(line, "request");
  const auto subtype = string_or(body, "subtype");
  if (request.empty()) // cannot be answered
    return out.opaque("control_request", subtype);
  if (subtype == "can_use_tool" && string_at(body, "tool_name"))
    return on_permission(request, body, out);
  out.opaque("control_request", subtype);
  out.out().replies += refusal(request, "unsupported control request: " + subtype);
}

void claude_control::on_permission(const std::string& request, const json& body, event_sink& out) {
  const auto same = [&](const auto& entry) { return entry.second.request == request; };
  if (std::ranges::any_of(pending_, same))
    return; // asked twice: one answer settles both
  const auto id = ids_.next();
  const auto tool = string_or(body, "tool_name");
  const auto& input = object_at(body, "input");
  json data = {
    {"permission", id}, {"tool", tool}, {"suggestions", array_at(body, "permission_suggestions")}};
  data["input"] = out.line_size() <= max_event_text ? input : json::object({{"truncated", true}});
  copy_text(body, "description", data, "description");
  copy_text(body, "title", data, "title");
  copy_text(body, "decision_reason", data, "reason");
  copy_text(body, "blocked_path", data, "blocked_path");
  copy_text(body, "tool_use_id", data, "tool_use_id");
  if (auto item = items_.item_of_call(string_or(body, "tool_use_id")); !item.empty())
    data["item"] = std::move(item);
  const auto is_question = tool == question_tool;
  out.emit(is_question ? "question.requested" : "permission.requested", std::move(data));
  out.out().asks.push_back({id, tool, input, {}, is_question});
  pending_.emplace(id, pending_ask{request, input, is_question});
}

void claude_control::on_cancel(const json& line, event_sink& out) {
  const auto request = string_or(line, "request_id");
  const auto found = std::ranges::find_if(
    pending_, [&](const auto& entry) { return entry.second.request == request; });
  if (found == pending_.end())
    return; // answered already; the agent drops that answer
  resolve(found->first, found->second, "withdrawn", false, out);
  pending_.erase(found);
}

void claude_control::on_response(const json& line, event_sink& out) {
  const auto& response = object_at(line, "response");
  // Answers of ours come back as echoes under the agent's own ids, which are not among these.
  if (!interrupts_.contains(string_or(response, "request_id"))
      || string_or(response, "subtype") != "success")
    return;
  acknowledged_ = true;
  out.out().interrupt_acknowledged = true;
}

std::string claude_control::interrupt() {
  const auto request = ids_.next();
  interrupts_.insert(request);
  return line_of({{"type", "control_request"},
                  {"request_id", request},
                  {"request", json::object({{"subtype", "interrupt"}})}});
}

std::string claude_control::repeat_interrupt() {
  return interrupted() && !acknowledged_ ? interrupt() : std::string{};
}

std::string claude_control::answer(std::string_view permission, decision d,
                                   std::string_view message) {
  const auto found = pending_.find(permission);
  if (found == pending_.end())
    return {};
  auto ask = std::move(found->second);
  pending_.erase(found);
  if (d == decision::allow)
    return success(ask.request, {{"behavior", "allow"}, {"updatedInput", std::move(ask.input)}});
  // A denial without a message is invalid for the agent and leaves it waiting.
  const auto words = message.empty() ? std::string{"Denied"} : std::string{message};
  return success(ask.request, {{"behavior", "deny"}, {"message", words}});
}

std::string claude_control::answer_question(std::string_view permission, const json& answers) {
  if (const auto found = pending_.find(permission); found != pending_.end())
    found->second.input["answers"] = answers;
  return answer(permission, decision::allow, {});
}

void claude_control::close_open(event_sink& out) {
  for (const auto& [id, ask] : pending_)
    resolve(id, ask, "agent", true, out);
  pending_.clear();
}

} // namespace tidemark
