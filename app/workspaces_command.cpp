#include "app/commands.hpp"
#include "base/json.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {

int run_workspaces(const api_address& server, bool as_json, terminal& to) {
  api_client client{server};
  const auto response = client.call("GET", "/api/v1/workspaces");
  if (!response)
    return report_failure(response.error(), server, to);
  if (as_json) {
    to.out << response->body << '\n';
    return exit_ok;
  }
  const auto parsed = parse_json(response->body);
  if (!parsed)
    return report_failure(error{errc::internal, "the server's response is not JSON"}, server, to);
  for (const auto& one : array_at(*parsed, "workspaces"))
    to.out << fmt::format("{:<32} {:<5} {} {}\n", neutralised(string_or(one, "id")),
                          neutralised(string_or(one, "status")),
                          neutralised(string_or(one, "updated_at")),
                          neutralised(string_or(one, "session_id", "-")));
  return exit_ok;
}

} // namespace tidemark
