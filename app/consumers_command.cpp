#include "app/commands.hpp"
#include "base/json.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {

int run_consumers(const api_address& server, const consumers_options& what, terminal& to) {
  api_client client{server};
  const auto response =
    client.call("GET", "/api/v1/workspaces/" + percent_encoded(what.workspace) + "/consumers");
  if (!response)
    return report_failure(response.error(), server, to);
  if (what.as_json) {
    to.out << response->body << '\n';
    return exit_ok;
  }
  const auto parsed = parse_json(response->body);
  if (!parsed)
    return report_failure(error{errc::internal, "the server's response is not JSON"}, server, to);
  for (const auto& one : array_at(*parsed, "consumers")) {
    const auto& hook = object_at(one, "webhook");
    const auto kind = hook.empty() ? std::string{"fetches"} : string_or(hook, "state");
    to.out << fmt::format("{:<32} {:>12} {:>8} behind  {:<24} {} {}\n",
                          neutralised(string_or(one, "name")),
                          neutralised(string_or(one, "cursor")), int_or(one, "lag", 0),
                          neutralised(string_or(one, "acked", "-")), neutralised(kind),
                          neutralised(string_or(hook, "url")));
  }
  return exit_ok;
}

} // namespace tidemark
