#include "tests/agents/claude_lines.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace tidemark::test {

json with(json base, const json& more) {
  base.update(more);
  return base;
}

std::string init(const json& more) {
  const json line = {{"type", "system"},
                     {"subtype", "init"},
                     {"session_id", session_a},
                     {"tools", {"Bash", "Read"}},
                     {"mcp_servers", json::array()},
                     {"model", "model-1"},
                     {"permissionMode", "default"},
                     {"claude_code_version", "2.1.200"}};
  return dump_json(with(line, more));
}

std::string assistant(const json& block, const std::string& message, const std::string& parent) {
  json body = {{"id", message},
               {"role", "assistant"},
               {"model", "model-1"},
               {"content", json::array({block})}};
  json line = {{"type", "assistant"}, {"session_id", session_a}, {"message", std::move(body)}};
  line["parent_tool_use_id"] = parent.empty() ? json(nullptr) : json(parent);
  return dump_json(line);
}

json text_block(const std::string& text) {
  return {{"type", "text"}, {"text", text}};
}

std::string says(const std::string& text, const std::string& message) {
  return assistant(text_block(text), message);
}

json tool_use(const std::string& id, const std::string& name, const json& input) {
  return {{"type", "tool_use"}, {"id", id}, {"name", name}, {"input", input}};
}

std::string tool_result(const std::string& id, const json& content, bool is_error,
                        const std::string& parent) {
  json block = {
    {"type", "tool_result"}, {"tool_use_id", id}, {"content", content}, {"is_error", is_error}};
  json line = {{"type", "user"},
               {"message", {{"role", "user"}, {"content", json::array({block})}}}};
  line["parent_tool_use_id"] = parent.empty() ? json(nullptr) : json(parent);
  return dump_json(line);
}

std::string stream(const json& event) {
  return dump_json({{"type", "stream_event"}, {"event", event}, {"parent_tool_use_id", nullptr}});
}

std::string message_start(const std::string& message) {
  return stream({{"type", "message_start"}, {"message", {{"id", message}, {"role", "assistant"}}}});
}

std::string block_start(int index, const json& block) {
  return stream({{"type", "content_block_start"}, {"index", index}, {"content_block", block}});
}

std::string text_delta(int index, const std::string& text) {
  return stream({{"type", "content_block_delta"},
                 {"index", index},
                 {"delta", {{"type", "text_delta"}, {"text", text}}}});
}

std::string system_line(const std::string& subtype, const json& more) {
  return dump_json(
    with({{"type", "system"}, {"subtype", subtype}, {"session_id", session_a}}, more));
}

std::string result(const std::string& text, const json& more) {
  const json line = {{"type", "result"},
                     {"subtype", "success"},
                     {"is_error", false},
                     {"num_turns", 1},
                     {"result", text},
                     {"session_id", session_a},
                     {"total_cost_usd", 0.5},
                     {"stop_reason", "end_turn"},
                     {"permission_denials", json::array()},
                     {"usage",
                      {{"input_tokens", 4},
                       {"output_tokens", 20},
                       {"cache_read_input_tokens", 200},
                       {"cache_creation_input_tokens", 100}}}};
  return dump_json(with(line, more));
}

std::string permission_request(const std::string& request, const std::string& tool,
                               const json& input) {
  json body = {
    {"subtype", "can_use_tool"}, {"tool_name", tool}, {"input", input}, {"description", "does it"}};
  return dump_json(
    {{"type", "control_request"}, {"request_id", request}, {"request", std::move(body)}});
}

conversation::conversation(std::string_view resumed) : agent(make_claude_adapter(resumed)) {
  agent->begin_turn("do it");
}

void conversation::add(adapter_output made) {
  std::ranges::move(made.events, std::back_inserter(events));
  std::ranges::move(made.asks, std::back_inserter(asks));
  std::ranges::move(made.withdrawn, std::back_inserter(withdrawn));
  replies += made.replies;
  if (made.end)
    ends.push_back(*made.end);
  session = made.session.value_or(session);
  tools = made.tools.value_or(tools);
}

adapter_output conversation::line(std::string_view text, bool truncated, std::uint64_t size) {
  auto made = agent->on_line(text, truncated, size == 0 ? text.size() : size);
  add(made);
  return made;
}

conversation& conversation::lines(const std::vector<std::string>& all) {
  for (const auto& one : all)
    line(one);
  return *this;
}

adapter_output conversation::exit(exit_status how, std::string_view stderr_tail) {
  auto made = agent->on_exit(how, stderr_tail);
  add(made);
  return made;
}

std::vector<json> conversation::of(std::string_view type) const {
  std::vector<json> found;
  for (const auto& e : events)
    if (e.type == type)
      found.push_back(e.data);
  return found;
}

json conversation::notice(std::string_view code) const {
  json found;
  for (const auto& data : of("agent.notice"))
    if (string_or(data, "code") == code)
      found = data;
  return found;
}

const turn_result& conversation::end() const {
  static const turn_result none;
  return ends.empty() ? none : ends.back();
}

std::vector<json> conversation::items(std::string_view kind) const {
  std::vector<json> found;
  for (const auto& data : of("item.completed"))
    if (string_or(data["item"], "kind") == kind)
      found.push_back(data["item"]);
  return found;
}

std::string conversation::broken_promise() const {
  std::map<std::string, std::string> open; // item -> joined deltas
  std::set<std::string> known, asked, resolved;
  for (const auto& e : events) {
    const auto item = string_or(object_at(e.data, "item"), "id");
    if (e.type == "item.started") {
      if (!known.insert(item).second)
        return "started twice: " + item;
      open[item];
    } else if (e.type == "item.delta") {
      const auto at = open.find(string_or(e.data, "item"));
      if (at == open.end())
        return "a delta of an item that is not open: " + dump_json(e.data);
      at->second += string_or(e.data, "text");
    } else if (e.type == "item.completed") {
      const auto at = open.find(item);
      if (at == open.end())
        return "completed without a start: " + dump_json(e.data);
      if (!at->second.empty() && at->second != string_or(e.data["item"], "text"))
        return "deltas differ from the text: " + at->second + " / " + dump_json(e.data);
      open.erase(at);
    } else if (e.type == "permission.requested" || e.type == "question.requested") {
      asked.insert(string_or(e.data, "permission"));
    } else if (e.type == "permission.resolved" || e.type == "question.resolved") {
      if (!asked.contains(string_or(e.data, "permission"))
          || !resolved.insert(string_or(e.data, "permission")).second)
        return "resolved what was not open: " + dump_json(e.data);
    }
  }
  if (!open.empty())
    return "never completed: " + open.begin()->first;
  if (std::set<std::string>(withdrawn.begin(), withdrawn.end()) != resolved)
    return "withdrawn asks and resolved permissions differ";
  return {};
}

} // namespace tidemark::test
