#pragma once

#include "agents/event_sink.hpp"

#include <map>
#include <string>
#include <string_view>

namespace tidemark {

/// The agent's conversation and what it runs with: `session.started` when either changes, a notice
/// when the state of an MCP server does.
class claude_session {
public:
  /// `resumed` is the conversation that the process was asked to go on with; may be empty.
  explicit claude_session(std::string resumed) : resumed_(std::move(resumed)) {}

  void on_init(const json& line, event_sink& out);
  /// The line that comes after it tells the new conversation's id.
  void on_reset(event_sink& out);
  /// Any other line of the conversation, before it is read.
  void on_line(const json& line, event_sink& out);
  /// The result of one of our prompts, unless it failed to resume.
  void on_result(const json& line, event_sink& out);
  /// The agent does not know the conversation it was to resume.
  void on_lost(const json& line, std::string_view reason, event_sink& out);

  [[nodiscard]] const std::string& model() const { return model_; }

private:
  void move_to(const std::string& session, event_sink& out);
  void on_servers(const json& line, event_sink& out);
  /// `before` is the conversation that the process had until now; may be empty or the same.
  void announce(event_sink& out, bool synthetic, const std::string& before);

  std::string resumed_;
  std::string session_;
  std::string model_;
  json facts_ = json::object(); ///< of the last init, as `session.started` shows them
  json announced_;              ///< the last `session.started`
  std::map<std::string, std::string> servers_; ///< MCP server -> state
  bool moved_ = false; ///< a reset was announced; the next id is the new one
};

} // namespace tidemark
