#pragma once

#include "agents/claude_items.hpp"
#include "agents/event_sink.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tidemark {

/// Claude Code's control protocol: permission asks of the agent, interrupts of ours.
///
/// Keeps: every control request is answered, withdrawn or abandoned; one that we cannot serve gets
/// an error at once, so the agent never waits for it.
class claude_control {
public:
  claude_control(id_source& ids, const claude_items& items) : ids_(ids), items_(items) {}

  void begin_turn();
  void on_request(const json& line, event_sink& out);
  void on_cancel(const json& line, event_sink& out);
  void on_response(const json& line, event_sink& out);

  /// Bytes of a new interrupt of this turn.
  std::string interrupt();
  /// An interrupt sent before the agent was ready may be lost: the bytes of another one if the
  /// last was not acknowledged, else empty.
  std::string repeat_interrupt();
  [[nodiscard]] bool interrupted() const { return !interrupts_.empty(); }

  /// Bytes that answer the agent; empty if the permission is unknown or settled.
  std::string answer(std::string_view permission, decision d, std::string_view message);
  /// The same for a question: allowed, with the answers in its input.
  std::string answer_question(std::string_view permission, const json& answers);

  /// The turn is over: nobody waits for the open asks any more.
  void close_open(event_sink& out);

private:
  struct pending_ask {
    std::string request;
    json input;
    bool is_question = false;
  };

  void on_permission(const std::string& request, const json& body, event_sink& out);
  static void resolve(const std::string& permission, const pending_ask& ask, std::string_view by,
                      bool synthetic, event_sink& out);

  id_source& ids_;
  const claude_items& items_;
  std::map<std::string, pending_ask, std::less<>> pending_; ///< by our permission id
  std::set<std::string, std::less<>> interrupts_;           ///< request ids of this turn
  bool acknowledged_ = false;
};

} // namespace tidemark
