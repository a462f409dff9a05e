#include "app/commands.hpp"
#include "base/json.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {

namespace {

/// `status 500, 3 of 20 attempts, the last at …, the next at …`
std::string trouble_of(const json& hook) {
  auto line = neutralised(string_or(hook, "error"));
  if (const auto attempts = int_or(hook, "attempts", 0); attempts > 0)
    line += fmt::format(", {} of {} attempts", attempts, int_or(hook, "max_attempts", 0));
  if (const auto at = string_or(hook, "failed"); !at.empty())
    line += ", the last at " + neutralised(at);
  if (const auto at = string_or(hook, "next_attempt"); !at.empty())
    line += ", the next at " + neutralised(at);
  return line;
}

} // namespace

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
      if (const auto why = string_or(hook, "error"); !why.empty())
        to.out << "    " << trouble_of(hook) << '\n';
    }
  };
  return print_answer(server, path, what.as_json, to, show);
}

} // namespace tidemark
