#include "http/router.hpp"

namespace tidemark {

void add_all_routes(router& to) {
  add_operations_routes(to);
  add_turn_routes(to);
  add_event_routes(to);
  add_verify_routes(to);
  add_message_routes(to);
  add_workspace_routes(to);
  add_shell_routes(to);
  add_openapi_routes(to);
}

} // namespace tidemark
