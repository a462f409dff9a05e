#include "tests/support/contract_shapes.hpp"

#include <map>
#include <regex>
#include <utility>
#include <vector>

namespace tidemark::test {
namespace {

using members = std::vector<std::pair<std::string, std::string>>;

/// The shapes of the contract, in its order.
const std::map<std::string, members>& shapes() {
  static const std::map<std::string, members> all{
    {"Health", {{"status", "text"}, {"version", "text"}}},
    {"MessageResponse",
     {{"session_id", "str"}, {"message", "str"}, {"success", "bool"}, {"error", "ErrorInfo?"}}},
    {"WorkspaceList", {{"workspaces", "[WorkspaceInfo]"}}},
    {"WorkspaceInfo",
     {{"id", "text"},
      {"name", "text"},
      {"path", "text"},
      {"created_at", "time"},
      {"updated_at", "time"},
      {"session_id", "text?"},
      {"metadata", "object"},
      {"status", "text"},
      {"tools", "[str]?"}}},
    {"Reset",
     {{"status", "text"},
      {"workspace_id", "text"},
      {"old_session_id", "text?"},
      {"new_session_id", "text?"}}},
    {"QueueStatus",
     {{"workspace_id", "text"},
      {"current_task", "TaskInfo?"},
      {"queued_tasks", "[TaskInfo]"},
      {"queue_length", "int"}}},
    {"TaskInfo",
     {{"task_id", "text"},
      {"source_chat_key", "str"},
      {"prompt_preview", "str"},
      {"enqueued_at", "time"},
      {"started_at", "time?"},
      {"elapsed_seconds", "number"},
      {"wait_seconds", "number"}}},
    {"Cancel", {{"cancelled", "bool"}, {"workspace_id", "text"}}},
    {"PendingResults",
     {{"workspace_id", "text"}, {"results", "[PendingResult]"}, {"count", "int"}}},
    {"PendingResult",
     {{"id", "text"},
      {"workspace_id", "text"},
      {"source_chat_key", "str"},
      {"result", "str"},
      {"created_at", "time"},
      {"expires_at", "time"},
      {"is_error", "bool"},
      {"error_code", "str"}}},
    {"Tools", {{"status", "text"}, {"tools", "[str]?"}, {"source", "text"}}},
    {"Status",
     {{"status", "text"},
      {"services", "Services"},
      {"capabilities", "Capabilities"},
      {"workspaces", "WorkspaceIds"},
      {"version", "text"},
      {"claude_version", "text?"}}},
    {"Services", {{"api", "text"}, {"claude_runtime", "text"}}},
    {"Capabilities", {{"tools", "[str]?"}, {"policy", "PolicySummary"}}},
    {"WorkspaceIds", {{"count", "int"}, {"ids", "[str]"}}},
    {"PolicySummary",
     {{"allowed_tools", "[str]"},
      {"blocked_tools", "[str]"},
      {"allow_network", "bool"},
      {"allow_file_modification", "bool"},
      {"allow_command_execution", "bool"}}},
    {"Sessions", {{"sessions", "[Session]"}}},
    {"Session", {{"workspace_id", "text"}, {"session_id", "text"}}},
    {"Error", {{"error", "ErrorInfo"}}},
    {"ErrorInfo",
     {{"err_id", "text"},
      {"code", "text"},
      {"message", "text"},
      {"retryable", "bool"},
      {"details", "object?"}}},
    {"queued",
     {{"position", "int"},
      {"queue_length", "int"},
      {"queued_count", "int"},
      {"current_task", "CurrentTask"}}},
    {"CurrentTask", {{"source_chat_key", "str"}, {"elapsed_seconds", "number"}}},
    {"chunk", {{"chunk", "str"}}},
    {"tool_call", {{"tool_use_id", "text"}, {"name", "text"}, {"input", "object"}}},
    {"tool_result", {{"tool_use_id", "text"}, {"content", "str"}, {"is_error", "bool"}}},
    {"error", {{"message", "text"}, {"error", "ErrorInfo"}}},
    {"done", {{"session_id", "str"}, {"turn_id", "text"}, {"usage", "object"}}},
  };
  return all;
}

bool is_time(const json& value) {
  static const std::regex iso8601{R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))"};
  return value.is_string() && std::regex_match(value.get_ref<const std::string&>(), iso8601);
}

bool fits_simple(const json& value, const std::string& type) {
  if (type == "str" || type == "text")
    return value.is_string() && (type == "str" || !value.get_ref<const std::string&>().empty());
  if (type == "int")
    return value.is_number_integer();
  if (type == "number")
    return value.is_number();
  if (type == "bool")
    return value.is_boolean();
  if (type == "object")
    return value.is_object();
  return type == "time" && is_time(value);
}

std::string list_fault(const json& value, const std::string& type) {
  if (!value.is_array())
    return "is no list: " + value.dump();
  for (std::size_t i = 0; i < value.size(); ++i)
    if (auto fault = contract_fault(value[i], type); !fault.empty())
      return "[" + std::to_string(i) + "] " + fault;
  return {};
}

} // namespace

std::string contract_fault(const json& value, const std::string& type) {
  if (type.ends_with('?'))
    return value.is_null() ? std::string{} : contract_fault(value, type.substr(0, type.size() - 1));
  if (type.starts_with('['))
    return list_fault(value, type.substr(1, type.size() - 2));
  const auto shape = shapes().find(type);
  if (shape == shapes().end())
    return fits_simple(value, type) ? std::string{} : "is no " + type + ": " + value.dump();
  if (!value.is_object())
    return "is no object: " + value.dump();
  for (const auto& [name, of] : shape->second) {
    if (!value.contains(name))
      return type + "." + name + " is missing";
    if (auto fault = contract_fault(value.at(name), of); !fault.empty())
      return type + "." + name + " " + fault;
  }
  return {};
}

std::string frame_fault(const json& frame) {
  const auto type = string_or(frame, "type");
  for (const char* known : {"queued", "chunk", "tool_call", "tool_result", "error", "done"})
    if (type == known) {
      auto fault = contract_fault(frame, type);
      const auto place = fault.empty() && type == "queued" ? int_or(frame, "position", 0) : 1;
      return place < 1 ? "queued.position is below 1" : fault;
    }
  return "a type that the contract does not name: " + frame.dump();
}

} // namespace tidemark::test
