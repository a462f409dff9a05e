#include "app/commands.hpp"
#include "app/event_view.hpp"
#include "app/transcript.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {

namespace {

/// What a transcript is made of; pieces of text are whole in what follows them.
constexpr auto shown_types =
  "turn.queued,turn.completed,item.completed,permission.resolved,agent.retrying,session.lost,fault";

constexpr std::size_t page = 200;

} // namespace

int run_show(const api_address& server, const show_options& what, terminal& to) {
  api_client client{server};
  transcript view{to, what.full};
  std::string after;
  bool any = false;
  for (bool complete = false; !complete;) {
    const auto response =
      client.call("GET", fmt::format("/api/v1/events?turn={}&types={}&limit={}&after={}",
                                     percent_encoded(what.turn), shown_types, page, after));
    if (!response)
      return report_failure(response.error(), server, to);
    const auto parsed = parse_json(response->body);
    if (!parsed)
      return report_failure(error{errc::internal, "the server's response is not JSON"}, server, to);
    for (const auto& e : array_at(*parsed, "events")) {
      any = true;
      if (what.as_json)
        to.out << dump_json(e) << '\n';
      else
        view.show(e);
    }
    after = string_or(*parsed, "next");
    complete = bool_or(*parsed, "complete", true);
  }
  if (any)
    return exit_ok;
  return report_failure(
    error{errc::not_found,
          fmt::format("no turn {} is in the log; `tidemark turns <workspace>` lists "
                      "those of a workspace",
                      what.turn)},
    server, to);
}

int run_turns(const api_address& server, const turns_options& what, terminal& to) {
  const auto path = fmt::format("/api/v1/workspaces/{}/turns?limit={}",
                                percent_encoded(what.workspace), what.limit);
  const auto show = [&](const json& body) {
    for (const auto& turn : array_at(body, "turns")) {
      const auto status = string_or(turn, "outcome", string_or(turn, "status"));
      const auto colour = status == "succeeded"                       ? tint::green
                          : status == "queued" || status == "running" ? tint::plain
                                                                      : tint::red;
      to.out << fmt::format("{} {} {} {}\n", neutralised(string_or(turn, "turn")),
                            neutralised(string_or(turn, "enqueued")),
                            painted(to, colour, fmt::format("{:<11}", neutralised(status))),
                            brief(string_or(turn, "prompt_preview"), 80));
    }
  };
  return print_answer(server, path, what.as_json, to, show);
}

} // namespace tidemark
