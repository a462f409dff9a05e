#include "agents/claude_tasks.hpp"

#include "agents/bounded_text.hpp"

#include <algorithm>
#include <array>

namespace tidemark {

namespace {

constexpr std::size_t longest_text = 2 << 10;
constexpr std::array<std::string_view, 5> final_states{"completed", "failed", "killed", "stopped",
                                                       "cancelled"};

bool is_final(std::string_view status) {
  return std::ranges::find(final_states, status) != final_states.end();
}

json task_of(const json& line) {
  json data = {{"task", string_or(line, "task_id")}, {"task_type", string_or(line, "task_type")}};
  if (auto call = string_or(line, "tool_use_id"); !call.empty())
    data["tool_use_id"] = std::move(call);
  return data;
}

} // namespace

bool claude_tasks::on_system(std::string_view subtype, const json& line, event_sink& out) {
  const auto text = string_or(line, "description");
  if (subtype == "task_started") {
    open_.insert(string_or(line, "task_id"));
    out.notice("task_started", utf8_prefix(text, longest_text), task_of(line));
  } else if (subtype == "task_progress") {
    out.notice("task_progress", utf8_prefix(text, longest_text), task_of(line));
  } else if (subtype == "task_updated") {
    // Often the only sign of the end.
    if (const auto status = string_or(object_at(line, "patch"), "status"); is_final(status))
      end(line, status, out);
  } else if (subtype == "task_notification") {
    end(line, string_or(line, "status", "completed"), out);
  } else if (subtype == "background_tasks_changed") {
    open_.clear();
    for (const auto& task : array_at(line, "tasks"))
      open_.insert(string_or(task, "task_id"));
  } else {
    return false;
  }
  return true;
}

void claude_tasks::end(const json& line, const std::string& status, event_sink& out) {
  const auto id = string_or(line, "task_id");
  if (open_.erase(id) == 0 && string_or(line, "summary").empty())
    return; // its end was told before
  auto data = task_of(line);
  data["status"] = status;
  out.notice("task_ended", utf8_prefix(string_or(line, "summary", status), longest_text),
             std::move(data));
}

} // namespace tidemark
