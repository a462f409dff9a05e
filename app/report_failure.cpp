#include "app/commands.hpp"

#include <fmt/format.h>

#include <ostream>

namespace tidemark {

int report_failure(const error& why, const api_address& server, terminal& to) {
  if (why.code == errc::cancelled) {
    to.err << '\n'
           << painted(to, tint::yellow, "interrupted") << ": what runs on the server goes on\n";
    return exit_interrupted;
  }
  to.err << painted(to, tint::red, "error: ") << neutralised(why.describe()) << '\n';
  if (why.code == errc::unavailable) {
    to.err << "Is a server running at " << server.url
           << "? Start one with `tidemark serve`, or name it with --server or TIDEMARK_SERVER.\n";
    return exit_unreachable;
  }
  if (why.code == errc::unauthorized)
    to.err
      << "Set TIDEMARK_TOKEN to one of the server's tokens (`tidemark token create` makes one); "
         "without it, INTERNAL_API_TOKEN is sent.\n";
  if (why.code == errc::locked)
    return exit_cannot_start;
  // An answer that broke off, or a data directory that cannot be read.
  return why.code == errc::io || why.code == errc::corrupt ? exit_failed : exit_refused;
}

int report_local_failure(const error& why, terminal& to) {
  to.err << painted(to, tint::red, "error: ") << neutralised(why.describe()) << '\n';
  return exit_failed;
}

api_client::loss_handler waiting_notice(std::chrono::seconds patience, terminal& to) {
  return [patience, &to](const error& why) {
    to.err << painted(to, tint::yellow, "waiting: ") << neutralised(why.message)
           << fmt::format(" (for up to {} s; Ctrl-C ends it)", patience.count()) << std::endl;
  };
}

} // namespace tidemark
