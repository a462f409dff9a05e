#include "http/workspace_api.hpp"

#include "base/ids.hpp"
#include "http/problem.hpp"

#include <utility>

namespace tidemark {

task<std::string> workspace_of(exchange& x) {
  auto id = workspace_id::parse(x.param("id"));
  if (id)
    co_return id->str();
  auto why = std::move(id.error());
  co_await send_v1_error(x, std::move(why));
  co_return std::string{};
}

task<bool> send_json(exchange& x, json body) {
  auto text = dump_json(body);
  co_return co_await x.send(200, std::move(text));
}

task<expected<summaries_ptr>> list_workspaces(exchange& x) {
  const auto& services = x.services();
  co_return co_await x.actors().ask<summaries_ptr>(services.options.answer_deadline,
                                                   services.directory, list_atom::value);
}

void add_workspace_routes(router& to) {
  add_workspace_info_routes(to);
  add_workspace_queue_routes(to);
  add_workspace_pending_routes(to);
  add_runtime_routes(to);
  add_settings_routes(to);
}

} // namespace tidemark
