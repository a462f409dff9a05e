#include "app/commands.hpp"
#include "app/event_view.hpp"
#include "base/json.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {

namespace {

/// The event that tells what the turn changed: the last one, if the turn was tried again.
expected<json> changes_of(api_client& client, const std::string& turn) {
  const auto response =
    client.call("GET", fmt::format("/api/v1/events?turn={}&types=turn.changes&order=newest&limit=1",
                                   percent_encoded(turn)));
  if (!response)
    return tl::make_unexpected(response.error());
  const auto parsed = parse_json(response->body);
  if (!parsed)
    return fail(errc::internal, "the server's response is not JSON");
  const auto& found = array_at(*parsed, "events");
  if (found.empty())
    return fail(
      errc::not_found,
      fmt::format(
        "what turn {} changed is not in the log: it has not ended, is of a server without "
        "agent.snapshots (TIDEMARK_AGENT_SNAPSHOTS=true), or is none",
        turn));
  return found.front();
}

std::string shown_count(const json& file, const char* name, char sign) {
  const auto found = file.find(name);
  return found == file.end() || !found->is_number()
           ? std::string{}
           : fmt::format(" {}{}", sign, found->get<std::int64_t>());
}

void print_files(const json& data, terminal& to) {
  const auto& files = array_at(data, "files");
  for (const auto& file : files) {
    const auto change = string_or(file, "change");
    const auto colour = change == "created"   ? tint::green
                        : change == "deleted" ? tint::red
                                              : tint::yellow;
    to.out << painted(to, colour, fmt::format("{:<8}", neutralised(change))) << ' '
           << brief(string_or(file, "path"), 1000)
           << painted(to, tint::green, shown_count(file, "added", '+'))
           << painted(to, tint::red, shown_count(file, "removed", '-')) << '\n';
  }
  const auto more = int_or(data, "count", 0) - static_cast<std::int64_t>(files.size());
  if (more > 0)
    to.out << fmt::format("and {} more\n", more);
}

tint colour_of(std::string_view line) {
  if (line.starts_with("diff ") || line.starts_with("+++ ") || line.starts_with("--- "))
    return tint::bold;
  if (line.starts_with("@@"))
    return tint::cyan;
  return line.starts_with('+') ? tint::green : line.starts_with('-') ? tint::red : tint::plain;
}

void print_patch(std::string_view patch, terminal& to) {
  while (!patch.empty()) {
    const auto end = std::min(patch.find('\n'), patch.size());
    const auto line = patch.substr(0, end);
    to.out << (to.screen ? painted(to, colour_of(line), neutralised(line)) : std::string{line})
           << '\n';
    patch.remove_prefix(std::min(end + 1, patch.size()));
  }
}

} // namespace

int run_diff(const api_address& server, const diff_options& what, terminal& to) {
  api_client client{server};
  const auto event = changes_of(client, what.turn);
  if (!event)
    return report_failure(event.error(), server, to);
  const auto data = object_at(*event, "data");
  if (what.as_json) {
    to.out << dump_json(data) << '\n';
    return exit_ok;
  }
  if (const auto problem = string_or(data, "problem"); !problem.empty())
    return report_failure(error{errc::not_found, problem}, server, to);
  if (bool_or(data, "incomplete", false))
    to.err << "some files could not be read and are missing here\n";
  if (what.names_only) {
    print_files(data, to);
    return exit_ok;
  }
  const auto patch = client.call("GET", fmt::format("/api/v1/workspaces/{}/turns/{}/diff",
                                                    percent_encoded(string_or(*event, "workspace")),
                                                    percent_encoded(what.turn)));
  if (!patch)
    return report_failure(patch.error(), server, to);
  print_patch(patch->body, to);
  return exit_ok;
}

} // namespace tidemark
