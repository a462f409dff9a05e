#pragma once

#include "base/json.hpp"

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark {

/// How a turn of the demo agent ended; the fields of its `result` line.
struct demo_ending {
  std::string subtype = "success";
  bool is_error = false;
  std::string text = {}; ///< `result`; left out unless subtype is `success`
  json errors = nullptr; ///< array, for the error subtypes
  json api_error_status = nullptr;
  json stop_reason = "end_turn";
  std::string terminal_reason = "completed";
  bool from_background = false; ///< the answer to a finished task, not to a prompt
};

/// Makes the lines of Claude Code's stream-json protocol, each with its line feed. Holds what goes
/// into them (conversation, model, mode, running totals) and does no I/O.
class demo_protocol {
public:
  using id_source = std::function<std::string()>;

  demo_protocol(std::string session, std::string model, std::vector<std::string> tools,
                std::string cwd, id_source new_id);

  /// What the host may change at any time, from the thread that reads stdin.
  void set_permission_mode(std::string mode);
  void set_model(std::string name);
  [[nodiscard]] std::string permission_mode() const;
  [[nodiscard]] std::string model() const;
  void set_mcp_servers(json servers) { mcp_servers_ = std::move(servers); }

  /// Resets what counts per turn.
  void begin_turn();

  [[nodiscard]] std::string init() const;
  [[nodiscard]] std::string status(const json& state) const;
  [[nodiscard]] std::string api_retry(int attempt, double delay_ms) const;
  [[nodiscard]] std::string rate_limit(std::string_view state) const;
  [[nodiscard]] std::string task(std::string_view subtype, const std::string& id,
                                 const json& fields) const;
  [[nodiscard]] std::string background_tasks(const json& tasks) const;

  /// A message by partial lines: start, per block start / deltas / stop, end.
  std::string message_start();
  [[nodiscard]] std::string block_start(const json& block);
  [[nodiscard]] std::string delta(const json& change) const;
  [[nodiscard]] std::string block_stop();
  std::string message_end(std::string_view stop_reason);
  /// The complete block, as every message brings it whether partial lines are wanted or not.
  [[nodiscard]] std::string assistant(const json& block) const;
  /// A message made up by the CLI itself: API errors and the like.
  [[nodiscard]] std::string synthetic(const std::string& text, const std::string& error) const;

  [[nodiscard]] std::string tool_result(const std::string& id, const std::string& content,
                                        bool is_error) const;
  [[nodiscard]] std::string user_text(const std::string& text) const;
  [[nodiscard]] std::string replayed_prompt(const std::string& prompt) const;
  void denied(const std::string& tool, const std::string& id, const json& input);
  [[nodiscard]] std::string result(const demo_ending& how) const;

  [[nodiscard]] std::string tool_use_id();
  [[nodiscard]] const std::vector<std::string>& tools() const { return tools_; }

private:
  [[nodiscard]] std::string line(json fields) const;
  [[nodiscard]] std::string stream_event(json event) const;
  [[nodiscard]] json message(const json& content) const;

  mutable std::mutex mutex_; // of the two that follow
  std::string model_;
  std::string permission_mode_ = "default";
  std::string session_;
  std::vector<std::string> tools_;
  std::string cwd_;
  json mcp_servers_ = json::array();
  id_source new_id_;
  std::string message_id_;
  int message_serial_ = 0;
  int tool_serial_ = 0;
  int block_index_ = -1;
  int turn_messages_ = 0;
  std::int64_t total_messages_ = 0;
  json denials_ = json::array();
};

/// Control lines, which carry no session.
std::string control_success(const std::string& request_id, const json& response);
std::string control_error(const std::string& request_id, const std::string& why);
std::string control_request(const std::string& request_id, const json& request);
std::string control_cancel(const std::string& request_id);

/// The `can_use_tool` request for one tool call.
json can_use_tool(const std::string& tool, const std::string& tool_use_id, const json& input);

inline constexpr std::string_view demo_version = "2.1.0-demo";

} // namespace tidemark
