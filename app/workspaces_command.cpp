#include "app/commands.hpp"
#include "base/json.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {

int run_workspaces(const api_address& server, bool as_json, terminal& to) {
  const std::string path = "/api/v1/workspaces";
  const auto show = [&](const json& body) {
    for (const auto& one : array_at(body, "workspaces"))
      to.out << fmt::format("{:<32} {:<5} {} {}\n", neutralised(string_or(one, "id")),
                            neutralised(string_or(one, "status")),
                            neutralised(string_or(one, "updated_at")),
                            neutralised(string_or(one, "session_id", "-")));
  };
  return print_answer(server, path, as_json, to, show);
}

} // namespace tidemark
