#include "http/find_workspace.hpp"

namespace tidemark {

expected<stream_info> find_workspace(const event_log& log, const std::string& id) {
  auto found = log.find(id);
  if (!found && found.error().code == errc::not_found)
    return fail(errc::not_found, "there is no workspace \"" + id + "\"");
  return found;
}

} // namespace tidemark
