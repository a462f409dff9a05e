#include "app/commands.hpp"
#include "app/offline_log.hpp"
#include "base/json.hpp"
#include "http/find_workspace.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {
namespace {

expected<chain_report> verify_offline(const config& local, const std::string& workspace) {
  const auto& options = local.values.log;
  const auto log = open_offline(options);
  if (!log)
    return tl::unexpected(log.error());
  auto report = find_workspace(**log, workspace).and_then([&](const stream_info& stream) {
    return (*log)->verify(stream.id);
  });
  if (report && !report->first_bad)
    return report;
  // One that was started meanwhile may be the cause.
  if (auto alone = no_server_on(options.directory); !alone)
    return tl::unexpected(alone.error());
  return report;
}

/// What retention has taken, and said so.
std::string removals(const chain_report& report) {
  std::string text;
  if (report.removed > 0)
    text += fmt::format("; {} before event {} were removed by retention", report.removed,
                        report.first.value);
  if (report.emptied > 0)
    text += fmt::format("; {} deltas among them lost their text to retention", report.emptied);
  return text;
}

expected<chain_report> verify_on_server(const api_address& server, const std::string& workspace) {
  api_client client{server};
  const auto response =
    client.call("GET", fmt::format("/api/v1/workspaces/{}/verify", percent_encoded(workspace)));
  if (!response)
    return tl::unexpected(response.error());
  const auto parsed = parse_json(response->body);
  if (!parsed || !parsed->is_object())
    return fail(errc::internal, "the server's response is not JSON");
  chain_report report;
  report.checked = static_cast<std::uint64_t>(int_or(*parsed, "checked", 0));
  if (const auto bad = int_or(*parsed, "first_bad", 0); bad > 0)
    report.first_bad = offset{static_cast<std::uint64_t>(bad)};
  report.problem = string_or(*parsed, "problem");
  report.first = offset{static_cast<std::uint64_t>(int_or(*parsed, "first", 1))};
  const auto& removed = object_at(*parsed, "removed");
  report.removed = static_cast<std::uint64_t>(int_or(removed, "events", 0));
  report.emptied = static_cast<std::uint64_t>(int_or(removed, "deltas", 0));
  return report;
}

} // namespace

int run_verify(const api_address& server, const config& local, const verify_options& what,
               terminal& to) {
  if (what.offline)
    if (const auto there = some_log_in(local.values.log.directory); !there) {
      report_local_failure(there.error(), to);
      return exit_usage;
    }
  if (!what.checkpoint.empty())
    return run_verify_checkpoint(server, local, what, to);
  const auto report =
    what.offline ? verify_offline(local, what.workspace) : verify_on_server(server, what.workspace);
  if (!report) {
    const int code = report_failure(report.error(), server, to);
    if (!what.offline)
      to.err << "With the server stopped, --offline reads the log itself.\n";
    return code;
  }
  if (!report->first_bad) {
    to.out << fmt::format("{}: {} events, unaltered{}\n", what.workspace, report->checked,
                          removals(*report));
    return exit_ok;
  }
  to.out << fmt::format("{}: event {} does not match its hash: {}\n", what.workspace,
                        report->first_bad->value, neutralised(report->problem));
  return exit_failed;
}

} // namespace tidemark
