#include "actors/workspace_core.hpp"

#include <algorithm>

namespace tidemark {
namespace {

std::string big_endian(std::uint64_t value) {
  std::string out(8, '\0');
  for (auto i = out.rbegin(); i != out.rend(); ++i, value >>= 8)
    *i = static_cast<char>(value & 0xFF);
  return out;
}

} // namespace

namespace record_key {

std::string snapshot(stream_id stream) {
  return "snapshot/" + std::to_string(stream.value);
}

std::string summary(std::string_view workspace) {
  return std::string{summaries} + std::string{workspace};
}

std::string active(std::string_view workspace) {
  return std::string{actives} + std::string{workspace};
}

std::string turn(stream_id stream, std::string_view turn) {
  return turns_of(stream) + std::string{turn};
}

std::string turns_of(stream_id stream) {
  return big_endian(stream.value);
}

} // namespace record_key

workspace_summary summarize(const workspace_state& state) {
  workspace_summary s;
  s.id = state.id;
  s.created = state.created;
  s.updated = state.last_time;
  if (!state.session.empty())
    s.session = state.session;
  s.busy = state.busy();
  s.tools = state.tools;
  s.mcp_servers = state.mcp_servers;
  s.open_requests = static_cast<std::size_t>(std::ranges::count_if(
    state.open_permissions, [](const auto& each) { return each.second.expires.has_value(); }));
  s.retain = state.retain;
  return s;
}

std::string to_record(const workspace_summary& summary) {
  json r = json::object();
  r["id"] = summary.id;
  r["created_ns"] = summary.created.nanoseconds;
  r["updated_ns"] = summary.updated.nanoseconds;
  r["session"] = summary.session ? json(*summary.session) : json(nullptr);
  r["busy"] = summary.busy;
  r["tools"] = summary.tools ? json(*summary.tools) : json(nullptr);
  r["mcp_servers"] = summary.mcp_servers;
  r["retain"] = summary.retain;
  return dump_json(r);
}

expected<workspace_summary> summary_of(std::string_view record) {
  auto parsed = parse_json(record);
  if (!parsed)
    return fail(errc::corrupt, "a workspace summary cannot be read", parsed.error());
  const auto& r = *parsed;
  workspace_summary s;
  s.id = string_or(r, "id");
  s.created = timestamp{int_or(r, "created_ns", 0)};
  s.updated = timestamp{int_or(r, "updated_ns", 0)};
  s.session = string_at(r, "session");
  s.busy = bool_or(r, "busy", false);
  s.mcp_servers = array_at(r, "mcp_servers");
  s.retain = object_at(r, "retain");
  if (r.contains("tools") && r["tools"].is_array()) {
    s.tools.emplace();
    for (const auto& tool : r["tools"])
      if (tool.is_string())
        s.tools->push_back(tool.get<std::string>());
  }
  return s;
}

} // namespace tidemark
