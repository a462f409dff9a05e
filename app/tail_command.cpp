#include "app/commands.hpp"
#include "app/event_view.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {
namespace {

/// Prints one envelope; false once nobody reads any more (`| head`).
bool print(std::string_view envelope, bool as_json, const std::string& server, terminal& to) {
  if (as_json) {
    to.out << envelope << std::endl;
    return to.out.good();
  }
  const auto parsed = parse_json(envelope);
  to.out << (parsed ? event_line(to, *parsed) + decide_hint(*parsed, server)
                    : neutralised(envelope))
         << std::endl;
  return to.out.good();
}

std::string path_of(const tail_options& what) {
  auto path = fmt::format("/api/v1/workspaces/{}/events", percent_encoded(what.workspace));
  if (!what.after.empty())
    path += "?after=" + percent_encoded(what.after);
  return path;
}

expected<void> print_stored(api_client& client, const tail_options& what, const std::string& server,
                            terminal& to) {
  std::string rest;
  return client.stream(
    path_of(what), {{"Accept", "application/x-ndjson"}}, [&](std::string_view piece) {
      rest += piece;
      std::size_t begin = 0;
      for (auto end = rest.find('\n'); end != std::string::npos;
           begin = end + 1, end = rest.find('\n', begin))
        if (end > begin
            && !print(std::string_view{rest}.substr(begin, end - begin), what.as_json, server, to))
          return false;
      rest.erase(0, begin);
      return true;
    });
}

expected<void> follow_events(api_client& client, const tail_options& what,
                             const std::string& server, terminal& to) {
  return client.follow(
    path_of(what),
    [&](const sse_event& e) {
      if (e.type == "hello")
        return true;
      if (e.type == "gap") {
        to.err << painted(to, tint::yellow, "events are missing here: ") << neutralised(e.data)
               << '\n';
        return true;
      }
      return print(e.data, what.as_json, server, to);
    },
    what.patience, waiting_notice(what.patience, to));
}

} // namespace

int run_tail(const api_address& server, const tail_options& what, terminal& to) {
  catch_interrupts();
  api_client client{server};
  const auto shown = shown_server(server);
  const auto done =
    what.follow ? follow_events(client, what, shown, to) : print_stored(client, what, shown, to);
  return done ? exit_ok : report_failure(done.error(), server, to);
}

} // namespace tidemark
