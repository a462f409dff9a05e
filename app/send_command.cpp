#include "app/commands.hpp"
#include "app/event_view.hpp"
#include "base/time.hpp"
#include "base/uuid.hpp"

#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <ostream>

namespace tidemark {
namespace {

struct submitted {
  std::string turn;
  std::int64_t offset = 0;
};

expected<submitted> submit(api_client& client, const send_options& what, const std::string& text) {
  auto body = json::object();
  body["prompt"] = text;
  body["source"] = "cli";
  if (!what.model.empty())
    body["model"] = what.model;
  // The key makes a repeat after a lost response safe: the server returns the same turn.
  const api_client::headers key{{"Idempotency-Key", new_uuid(now_utc())}};
  const auto path = fmt::format("/api/v1/workspaces/{}/turns", percent_encoded(what.workspace));
  const auto response = client.call("POST", path, dump_json(body), key);
  if (!response)
    return tl::unexpected(response.error());
  const auto parsed = parse_json(response->body);
  if (!parsed || string_or(*parsed, "turn").empty())
    return fail(errc::internal, "the server's response names no turn");
  return submitted{string_or(*parsed, "turn"), int_or(*parsed, "offset", 1)};
}

/// Follows the turn to its end; the outcome, or why it is not known.
/// `seen` becomes the offset of the last event that came.
expected<std::string> follow_turn(api_client& client, const send_options& what,
                                  const submitted& turn, const std::string& server,
                                  std::int64_t& seen, terminal& to) {
  turn_view view{to, server};
  std::string outcome;
  const auto path = fmt::format("/api/v1/workspaces/{}/events?after={}",
                                percent_encoded(what.workspace), turn.offset - 1);
  const auto done = client.follow(
    path,
    [&](const sse_event& e) {
      const auto envelope = parse_json(e.data);
      if (e.type == "gap")
        to.err << painted(to, tint::yellow, "events are missing here: ") << neutralised(e.data)
               << '\n';
      if (!envelope)
        return true;
      seen = int_or(*envelope, "offset", seen);
      if (string_or(*envelope, "turn") != turn.turn)
        return true;
      if (what.as_json)
        to.out << e.data << std::endl;
      else
        view.show(*envelope);
      if (e.type == "turn.completed")
        outcome = string_or(object_at(*envelope, "data"), "outcome");
      return outcome.empty();
    },
    what.patience, waiting_notice(what.patience, to));
  if (!done)
    return tl::unexpected(done.error());
  if (outcome.empty())
    return fail(errc::not_found, "the workspace was deleted before the turn ended");
  return outcome;
}

} // namespace

int run_send(const api_address& server, const send_options& what, terminal& to) {
  catch_interrupts();
  const auto text =
    what.text == "-" ? std::string{std::istreambuf_iterator<char>{std::cin}, {}} : what.text;
  api_client client{server};
  const auto turn = submit(client, what, text);
  if (!turn)
    return report_failure(turn.error(), server, to);
  if (what.detach) {
    to.out << turn->turn << '\n';
    return exit_ok;
  }
  auto seen = turn->offset - 1;
  const auto outcome = follow_turn(client, what, *turn, shown_server(server), seen, to);
  if (outcome)
    return *outcome == "succeeded" ? exit_ok : exit_failed;
  const int code = report_failure(outcome.error(), server, to);
  to.err << fmt::format("See the rest with: tidemark tail {} --after {} --follow --server {}\n",
                        what.workspace, seen, server.url);
  return code;
}

} // namespace tidemark
