#pragma once

#include "agents/adapter.hpp"

#include <string>
#include <string_view>
#include <vector>

// Lines as Claude Code prints them, and an adapter with everything it made of them.
namespace tidemark::test {

inline constexpr const char* session_a = "aaaaaaaa-0000-4000-8000-000000000001";
inline constexpr const char* session_b = "bbbbbbbb-0000-4000-8000-000000000002";

/// `base` with the members of `more` put over it.
json with(json base, const json& more);

std::string init(const json& more = json::object());
/// One assistant line with one content block; `parent` is a subagent's tool call.
std::string assistant(const json& block, const std::string& message = "msg_1",
                      const std::string& parent = {});
std::string says(const std::string& text, const std::string& message = "msg_1");
json text_block(const std::string& text);
json tool_use(const std::string& id, const std::string& name, const json& input = json::object());
std::string tool_result(const std::string& id, const json& content, bool is_error = false,
                        const std::string& parent = {});
/// A stream_event line.
std::string stream(const json& event);
std::string message_start(const std::string& message);
std::string block_start(int index, const json& block);
std::string text_delta(int index, const std::string& text);
std::string system_line(const std::string& subtype, const json& more = json::object());
std::string result(const std::string& text, const json& more = json::object());
std::string permission_request(const std::string& request, const std::string& tool,
                               const json& input);

/// An adapter in a turn, and all that it has said since.
class conversation {
public:
  explicit conversation(std::string_view resumed = {});

  adapter_output line(std::string_view text, bool truncated = false, std::uint64_t size = 0);
  conversation& lines(const std::vector<std::string>& all);
  adapter_output exit(exit_status how, std::string_view stderr_tail = {});
  void add(adapter_output made);

  [[nodiscard]] std::vector<json>
  of(std::string_view type) const;                        ///< data of the events of one type
  [[nodiscard]] json notice(std::string_view code) const; ///< the last one; null if there is none
  [[nodiscard]] const turn_result& end() const;
  /// Completed items of one kind.
  [[nodiscard]] std::vector<json> items(std::string_view kind) const;
  /// What an adapter promises, whatever its agent does; the text of the first broken promise.
  [[nodiscard]] std::string broken_promise() const;

  std::unique_ptr<adapter> agent;
  std::vector<agent_event> events;
  std::vector<permission_ask> asks;
  std::vector<std::string> withdrawn;
  std::vector<turn_result> ends;
  std::string replies;
  std::string session;
  std::vector<std::string> tools;
};

} // namespace tidemark::test
