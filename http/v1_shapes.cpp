#include "http/v1_shapes.hpp"

#include "base/ids.hpp"
#include "http/parse_body.hpp"
#include "http/turn_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tidemark {

namespace {

/// Milliseconds are enough for people, and short numbers survive every JSON reader.
double rounded_seconds(timestamp from, timestamp to) {
  return std::max(0.0, std::round(to.seconds_since(from) * 1000) / 1000);
}

const json* given(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

expected<void> take_string(const json& object, const char* key, std::string& into) {
  const auto* value = given(object, key);
  if (!value)
    return {};
  if (!value->is_string())
    return fail(errc::invalid_argument, fmt::format("\"{}\" must be a string", key));
  into = value->get<std::string>();
  return {};
}

expected<void> take_environment(const json& object, std::map<std::string, std::string>& into) {
  const auto* value = given(object, "env_vars");
  if (!value)
    return {};
  if (!value->is_object())
    return fail(errc::invalid_argument, "\"env_vars\" must be an object of strings");
  for (const auto& [name, text] : value->items()) {
    const auto good_name =
      !name.empty() && name.find('=') == std::string::npos && name.find('\0') == std::string::npos;
    if (!good_name)
      return fail(errc::invalid_argument, "\"env_vars\" holds a name that no environment can hold");
    if (!text.is_string() || text.get_ref<const std::string&>().find('\0') != std::string::npos)
      return fail(
        errc::invalid_argument,
        fmt::format("\"env_vars\": the value of \"{}\" must be a string without U+0000", name));
    into[name] = text.get<std::string>();
  }
  return check_environment_size(into, "env_vars");
}

expected<json> parse_object(std::string_view body) {
  auto parsed = parse_json(body, max_body_values);
  if (!parsed)
    return fail(parsed.error().code, "the request body is " + parsed.error().message);
  if (!parsed->is_object())
    return fail(errc::invalid_argument, "the request body must be a JSON object");
  return parsed;
}

} // namespace

expected<message_request> parse_message_request(std::string_view body) {
  const auto object = parse_object(body);
  if (!object)
    return tl::make_unexpected(object.error());
  message_request request;
  if (!given(*object, "content"))
    return fail(errc::invalid_argument, "\"content\" is missing");
  if (auto took = take_string(*object, "content", request.content); !took)
    return tl::make_unexpected(took.error());
  if (request.content.find_first_not_of(" \t\r\n\f\v") == std::string::npos)
    return fail(errc::invalid_argument, "\"content\" must not be blank");
  if (auto took = take_string(*object, "workspace_id", request.workspace); !took)
    return tl::make_unexpected(took.error());
  if (const auto id = workspace_id::parse(request.workspace); !id)
    return fail(errc::invalid_argument, "\"workspace_id\": " + id.error().message);
  if (auto took = take_string(*object, "source_chat_key", request.source); !took)
    return tl::make_unexpected(took.error());
  if (auto took = take_environment(*object, request.environment); !took)
    return tl::make_unexpected(took.error());
  return request;
}

expected<std::vector<std::string>> parse_ack_request(std::string_view body) {
  const auto object = parse_object(body);
  if (!object)
    return tl::make_unexpected(object.error());
  const auto* ids = given(*object, "ids");
  const auto is_string = [](const json& id) { return id.is_string(); };
  if (!ids || !ids->is_array() || !std::all_of(ids->begin(), ids->end(), is_string))
    return fail(errc::invalid_argument, "\"ids\" must be an array of strings");
  return ids->get<std::vector<std::string>>();
}

json task_object(const queued_task& task, timestamp now) {
  // A task that stands for "none" has no times to count from.
  const auto known = task.enqueued != timestamp{};
  auto object = json::object();
  object["task_id"] = task.turn;
  object["source_chat_key"] = task.source;
  object["prompt_preview"] = task.preview;
  object["enqueued_at"] = iso8601(task.enqueued);
  object["started_at"] = nullptr;
  object["elapsed_seconds"] = 0.0;
  object["wait_seconds"] = known ? rounded_seconds(task.enqueued, task.started.value_or(now)) : 0.0;
  if (task.started) {
    object["started_at"] = iso8601(*task.started);
    object["elapsed_seconds"] = rounded_seconds(*task.started, now);
  }
  return object;
}

json queue_object(std::string_view workspace, const queue_reply& queue, timestamp now) {
  auto waiting = json::array();
  for (const auto& task : queue.waiting)
    waiting.push_back(task_object(task, now));
  auto object = json::object();
  object["workspace_id"] = std::string{workspace};
  object["current_task"] = nullptr;
  if (queue.current)
    object["current_task"] = task_object(*queue.current, now);
  object["queue_length"] = queue.waiting.size();
  object["queued_tasks"] = std::move(waiting);
  return object;
}

json tools_or_null(const std::optional<std::vector<std::string>>& tools) {
  if (!tools)
    return nullptr;
  return json(*tools);
}

json workspace_object(const workspace_info& info) {
  auto object = json::object();
  object["id"] = info.id;
  object["name"] = info.id;
  object["path"] = info.path;
  object["created_at"] = iso8601(info.created);
  object["updated_at"] = iso8601(info.updated);
  object["session_id"] = nullptr;
  if (info.session)
    object["session_id"] = *info.session;
  object["metadata"] = info.metadata.is_object() ? info.metadata : json::object();
  object["status"] = info.busy ? "busy" : "idle";
  object["tools"] = tools_or_null(info.tools);
  return object;
}

json workspace_object(const workspace_summary& summary, std::string_view root) {
  workspace_info info;
  info.id = summary.id;
  info.path = root.empty()
                ? summary.id
                : fmt::format("{}{}{}", root, root.ends_with('/') ? "" : "/", summary.id);
  info.created = summary.created;
  info.updated = summary.updated;
  info.session = summary.session;
  info.busy = summary.busy;
  info.tools = summary.tools;
  return workspace_object(info);
}

json pending_object(std::string_view workspace, const std::vector<pending_result>& results) {
  auto list = json::array();
  for (const auto& result : results) {
    auto object = json::object();
    object["id"] = result.id;
    object["workspace_id"] = std::string{workspace};
    object["source_chat_key"] = result.source;
    object["result"] = result.text;
    object["created_at"] = iso8601(result.created);
    object["expires_at"] = iso8601(result.expires);
    object["is_error"] = result.is_error;
    object["error_code"] = result.error_code;
    list.push_back(std::move(object));
  }
  auto body = json::object();
  body["workspace_id"] = std::string{workspace};
  body["count"] = list.size();
  body["results"] = std::move(list);
  return body;
}

json policy_object(const policy_summary& summary) {
  auto object = json::object();
  object["allowed_tools"] = json(summary.allowed_tools);
  object["blocked_tools"] = json(summary.blocked_tools);
  object["allow_network"] = summary.allow_network;
  object["allow_file_modification"] = summary.allow_file_modification;
  object["allow_command_execution"] = summary.allow_command_execution;
  return object;
}

json session_object(std::string_view workspace, std::string_view session) {
  auto object = json::object();
  object["workspace_id"] = std::string{workspace};
  object["session_id"] = std::string{session};
  return object;
}

} // namespace tidemark
