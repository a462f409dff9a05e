#pragma once

#include "agents/adapter.hpp"
#include "agents/claude_control.hpp"
#include "agents/claude_items.hpp"
#include "agents/claude_result.hpp"
#include "agents/claude_session.hpp"
#include "agents/claude_tasks.hpp"

#include <string>
#include <string_view>

namespace tidemark {

/// Claude Code's stream-json (contracts: claude-stream-json). One object a process. Each subject has
/// a class of its own; this one knows which line concerns which, and when a turn begins and ends.
class claude_adapter final : public adapter {
public:
  /// `id_prefix` is unique to the process; `resumed` is the conversation it was started with.
  claude_adapter(std::string id_prefix, std::string resumed);

  std::string begin_turn(std::string_view prompt) override;
  adapter_output on_line(std::string_view line, bool truncated, std::uint64_t full_size) override;
  adapter_output on_exit(exit_status how, std::string_view stderr_tail) override;
  std::string interrupt() override;
  std::string answer(std::string_view permission, decision d, std::string_view message) override;
  std::string answer_question(std::string_view permission, const json& answers) override;
  adapter_output abandon_turn() override;
  [[nodiscard]] std::size_t open_tasks() const override { return tasks_.open(); }

private:
  void on_message(const json& line, event_sink& out);
  void on_reset(event_sink& out);
  void on_system(const json& line, event_sink& out);
  void on_api_retry(const json& line, event_sink& out);
  void on_rate_limit(const json& line, event_sink& out);
  void on_denied(const json& line, event_sink& out);
  void on_assistant(const json& line, event_sink& out);
  void on_result(const json& line, event_sink& out);
  void end_turn(const json& line, event_sink& out);
  void close_open(event_sink& out);

  id_source ids_;
  claude_items items_{ids_};
  claude_control control_{ids_, items_};
  claude_session session_;
  claude_tasks tasks_;
  cost_meter cost_;
  claude_turn_facts facts_;
  json last_rate_limit_;
  bool in_turn_ = false;
};

} // namespace tidemark
