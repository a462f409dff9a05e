#pragma once

#include "actors/commands.hpp"
#include "agents/policy.hpp"
#include "base/json.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Requests and answers of the workspace API v1 as JSON (contracts: workspace API v1, Endpoints).
// Pure. Each function gives exactly the members of the contract.
namespace tidemark {

/// The body of `POST /api/v1/message` and `/message/stream`.
struct message_request {
  std::string content;
  std::string workspace = "default";
  std::string source;                             ///< `source_chat_key`
  std::map<std::string, std::string> environment; ///< secrets of this task
};

/// Everything but `content` has a default; null reads as absent; unknown members are ignored.
/// Errors: `invalid_argument` naming the member. Never a value, which may be a secret.
expected<message_request> parse_message_request(std::string_view body);

/// The ids of `POST …/pending-results/ack`. Errors: `invalid_argument`.
expected<std::vector<std::string>> parse_ack_request(std::string_view body);

/// TaskInfo at the moment `now`.
json task_object(const queued_task& task, timestamp now);
/// QueueStatus at the moment `now`.
json queue_object(std::string_view workspace, const queue_reply& queue, timestamp now);
/// WorkspaceInfo of one workspace.
json workspace_object(const workspace_info& info);
/// WorkspaceInfo of one line of the list. `root` is the directory that holds the workspaces.
json workspace_object(const workspace_summary& summary, std::string_view root);
/// The answer of `GET …/pending-results`.
json pending_object(std::string_view workspace, const std::vector<pending_result>& results);
/// PolicySummary.
json policy_object(const policy_summary& summary);
/// `{"workspace_id","session_id"}`.
json session_object(std::string_view workspace, std::string_view session);
/// `[str]`, or null if the tools are not known.
json tools_or_null(const std::optional<std::vector<std::string>>& tools);

} // namespace tidemark
