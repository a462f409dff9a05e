#include "agents/claude_session.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tidemark {

namespace {

std::vector<std::string> texts_of(const json& list) {
  std::vector<std::string> out;
  for (const auto& entry : list)
    if (entry.is_string())
      out.push_back(entry.get<std::string>());
  return out;
}

/// Servers the CLI tried and those whose configuration it refused, in one list.
json servers_of(const json& line) {
  auto servers = json::array();
  for (const auto& entry : array_at(line, "mcp_servers"))
    servers.push_back(
      {{"name", string_or(entry, "name")}, {"status", string_or(entry, "status", "unknown")}});
  for (const auto& entry : array_at(line, "mcp_server_errors"))
    servers.push_back({{"name", string_or(entry, "name")},
                       {"status", "config_error"},
                       {"error", string_or(entry, "error")}});
  return servers;
}

bool is_tool_of(std::string_view tool, std::string_view server) {
  constexpr std::string_view mark = "mcp__";
  if (!tool.starts_with(mark))
    return false;
  tool.remove_prefix(mark.size());
  const auto names = [](char in_tool, char in_name) {
    const auto kept = std::isalnum(static_cast<unsigned char>(in_name)) != 0 || in_name == '-';
    return in_tool == (kept ? in_name : '_'); // as the CLI spells a server's name in its tools'
  };
  return tool.size() > server.size() + 2 && tool.substr(server.size()).starts_with("__")
         && std::ranges::equal(tool.substr(0, server.size()), server, names);
}

/// The agent's tools without those of servers that do not answer: they cannot be used.
std::vector<std::string> usable_tools(const json& line, const json& servers) {
  auto tools = texts_of(array_at(line, "tools"));
  for (const auto& server : servers)
    if (string_or(server, "status") != "connected")
      std::erase_if(tools, [name = string_or(server, "name")](const std::string& tool) {
        return is_tool_of(tool, name);
      });
  return tools;
}

} // namespace

void claude_session::on_init(const json& line, event_sink& out) {
  moved_ = false;
  model_ = string_or(line, "model", model_);
  facts_ = json::object();
  facts_["model"] = model_;
  auto servers = servers_of(line);
  auto tools = usable_tools(line, servers);
  facts_["tools"] = tools;
  facts_["mcp_servers"] = std::move(servers);
  facts_["agent_version"] = string_or(line, "claude_code_version");
  facts_["permission_mode"] = string_or(line, "permissionMode");
  if (!tools.empty())
    out.out().tools = std::move(tools);
  auto before = session_;
  if (auto session = string_or(line, "session_id"); !session.empty()) {
    out.out().session = session;
    session_ = std::move(session);
  }
  announce(out, false, before);
  on_servers(line, out);
}

void claude_session::announce(event_sink& out, bool synthetic, const std::string& before) {
  auto data = facts_;
  data["session"] = session_;
  data["resumed"] = !resumed_.empty() && session_ == resumed_;
  if (data == announced_)
    return;
  announced_ = data;
  if (!before.empty() && before != session_)
    data["follows"] = before;
  if (synthetic)
    data["synthetic"] = true;
  out.emit("session.started", std::move(data));
}

void claude_session::on_servers(const json& line, event_sink& out) {
  std::map<std::string, std::string> now;
  for (auto& server : servers_of(line)) {
    const auto name = string_or(server, "name");
    const auto status = string_or(server, "status");
    now[name] = status;
    const auto before = servers_.find(name);
    const auto news = before == servers_.end() ? status != "connected" : before->second != status;
    if (!news)
      continue;
    const auto error = string_or(server, "error");
    const auto text =
      fmt::format("MCP server {}: {}{}{}", name, status, error.empty() ? "" : ", ", error);
    server["server"] = name;
    server.erase("name");
    out.notice("mcp_server", text, std::move(server));
  }
  servers_ = std::move(now);
}

void claude_session::on_reset(event_sink& out) {
  moved_ = true;
  out.notice("conversation_reset", "the agent began a new conversation",
             json::object({{"old_session", session_}}));
}

void claude_session::on_line(const json& line, event_sink& out) {
  if (moved_)
    move_to(string_or(line, "session_id"), out);
}

void claude_session::on_result(const json& line, event_sink& out) {
  const auto session = string_or(line, "session_id");
  move_to(session, out);
  if (!session.empty())
    out.out().session = session;
}

void claude_session::move_to(const std::string& session, event_sink& out) {
  if (session.empty() || session == session_)
    return;
  moved_ = false;
  const auto before = std::exchange(session_, session);
  out.out().session = session;
  announce(out, true, before);
}

void claude_session::on_lost(const json& line, std::string_view reason, event_sink& out) {
  auto session = string_or(line, "session_id");
  if (session.empty())
    session = resumed_;
  out.emit("session.lost", {{"session", std::move(session)}, {"reason", std::string{reason}}});
}

} // namespace tidemark
