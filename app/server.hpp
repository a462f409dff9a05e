#pragma once

#include "app/settings.hpp"

#include <iosfwd>
#include <string_view>

namespace tidemark {

/// `http://127.0.0.1:7021`; IPv6 addresses in brackets.
std::string server_url(std::string_view host, std::uint16_t port);

/// Runs the server until SIGTERM, SIGINT, SIGHUP or SIGQUIT and returns the exit code of the process.
///
/// Writes exactly one line to `out`, once it serves: `tidemark listening on http://127.0.0.1:7021`.
/// Everything else goes to the log on stderr. Order of start: log, processes left by an earlier
/// run, metrics, hub, actors, HTTP; the end is the same in reverse, within
/// `server.shutdown_limit`. Exit codes: 0 after an ordered end, `exit_cannot_start` if the log or
/// the port is not to be had, no token is set for an address that others reach, or the log failed
/// for good while running.
///
/// Precondition: `what` was resolved (app/config.hpp); no thread runs yet.
int run_server(const settings& what, std::ostream& out);

} // namespace tidemark
