#include "replay/audit_terms.hpp"

#include <algorithm>

namespace tidemark {

namespace {

std::string term(std::string_view kind, std::string_view value) {
  std::string out{kind};
  out += value.substr(0, audit_term::max_value_bytes);
  std::replace(out.begin(), out.end(), '\0', ' '); // which ends a term
  return out;
}

} // namespace

namespace audit_term {

std::string type(std::string_view value) {
  return term("type:", value);
}

std::string workspace(std::string_view value) {
  return term("workspace:", value);
}

std::string turn(std::string_view value) {
  return term("turn:", value);
}

std::string tool(std::string_view value) {
  return term("tool:", value);
}

std::string outcome(std::string_view value) {
  return term("outcome:", value);
}

bool is_unsearchable(std::string_view event_type) {
  return event_type == "item.delta";
}

} // namespace audit_term

std::string tool_of(std::string_view type, const json& data) {
  if (type.starts_with("permission.") || type.starts_with("question."))
    return string_or(data, "tool");
  if (type != "item.started" && type != "item.completed")
    return {};
  const auto& item = object_at(data, "item");
  return string_or(item, "kind") == "tool_call" ? string_or(item, "name") : std::string{};
}

std::string outcome_of(std::string_view type, const json& data) {
  return type == "turn.completed" ? string_or(data, "outcome") : std::string{};
}

std::vector<std::string> audit_terms(std::string_view workspace, std::string_view type,
                                     std::string_view turn, const json& data) {
  if (audit_term::is_unsearchable(type))
    return {};
  std::vector<std::string> out{audit_term::type(type), audit_term::workspace(workspace)};
  if (!turn.empty())
    out.push_back(audit_term::turn(turn));
  if (const auto tool = tool_of(type, data); !tool.empty())
    out.push_back(audit_term::tool(tool));
  if (const auto outcome = outcome_of(type, data); !outcome.empty())
    out.push_back(audit_term::outcome(outcome));
  return out;
}

} // namespace tidemark
