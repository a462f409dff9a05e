#include "app/commands.hpp"
#include "base/json.hpp"

#include <ostream>

namespace tidemark {

int print_answer(const api_address& server, const std::string& path, bool as_json, terminal& to,
                 const std::function<void(const json&)>& show) {
  api_client client{server};
  const auto response = client.call("GET", path);
  if (!response)
    return report_failure(response.error(), server, to);
  if (as_json) {
    to.out << response->body << '\n';
    return exit_ok;
  }
  const auto parsed = parse_json(response->body);
  if (!parsed)
    return report_failure(error{errc::internal, "the server's response is not JSON"}, server, to);
  show(*parsed);
  return exit_ok;
}

} // namespace tidemark
