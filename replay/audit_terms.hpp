#pragma once

#include "base/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// The words of the log's index under which an event is found (storage/event_log.hpp, `search`).
/// Pieces of text that stream in (`item.delta`) have none: they are most of a log, and whole in their
/// `item.completed`.
namespace audit_term {

/// Longer names share a term, so what it finds must be compared.
inline constexpr std::size_t max_value_bytes = 200;

std::string type(std::string_view value);
std::string workspace(std::string_view value);
std::string turn(std::string_view value);
std::string tool(std::string_view value);
std::string outcome(std::string_view value);

/// True for types whose events have no terms.
bool is_unsearchable(std::string_view event_type);

} // namespace audit_term

/// What a tool call or a permission is about: the tool's name; empty for other events.
std::string tool_of(std::string_view type, const json& data);

/// How the event says a turn ended: `succeeded`, `failed` …; empty for other events.
std::string outcome_of(std::string_view type, const json& data);

/// All terms of one event.
std::vector<std::string> audit_terms(std::string_view workspace, std::string_view type,
                                     std::string_view turn, const json& data);

} // namespace tidemark
