#include "app/commands.hpp"
#include "base/json.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {

int run_consumers(const api_address& server, const consumers_options& what, terminal& to) {
  const auto path = "/api/v1/workspaces/" + percent_encoded(what.workspace) + "/consumers";
  const auto show = [&](const json& body) {
    for (const auto& one : array_at(body, "consumers")) {
      const auto& hook = object_at(one, "webhook");
      const auto kind = hook.empty() ? std::string{"fetches"} : string_or(hook, "state");
      to.out << fmt::format("{:<32} {:>12} {:>8} behind  {:<24} {} {}\n",
                            neutralised(string_or(one, "name")),
                            neutralised(string_or(one, "cursor")), int_or(one, "lag", 0),
                            neutralised(string_or(one, "acked", "-")), neutralised(kind),
                            neutralised(string_or(hook, "url")));
    }
  };
  return print_answer(server, path, what.as_json, to, show);
}

} // namespace tidemark
