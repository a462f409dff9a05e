#pragma once

#include "http/exchange.hpp"
#include "http/router.hpp"

#include <string>

// Parts of the workspace API v1 besides messages, one function a subject.
namespace tidemark {

void add_workspace_info_routes(
  router& to); ///< workspaces, sessions              (workspace_api_info.cpp)
void add_workspace_queue_routes(
  router& to); ///< queue, cancel, session reset      (workspace_api_queue.cpp)
void add_workspace_pending_routes(
  router& to); ///< pending results                   (workspace_api_pending.cpp)
void add_runtime_routes(
  router& to); ///< status, capabilities              (workspace_api_runtime.cpp)
void add_settings_routes(router& to); ///< model providers (settings_api.cpp)

/// The path's `{id}`; empty if it is not a workspace id, and then the request has been answered.
task<std::string> workspace_of(exchange& x);

/// Answers 200 with `body`.
task<bool> send_json(exchange& x, json body);

/// Every workspace, as the directory knows them.
task<expected<summaries_ptr>> list_workspaces(exchange& x);

} // namespace tidemark
