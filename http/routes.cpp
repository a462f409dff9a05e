#include "http/router.hpp"

namespace tidemark {

void add_all_routes(router& to) {
  add_operations_routes(to);
  add_turn_routes(to);
  const auto readers = std::make_shared<reader_count>(0);
  add_event_routes(to, readers);
  add_audit_routes(to, readers);
  add_verify_routes(to);
  add_backup_routes(to);
  add_message_routes(to);
  add_workspace_routes(to);
  add_shell_routes(to);
  add_permission_routes(to);
  add_consumer_routes(to);
  add_webhook_routes(to);
  add_openapi_routes(to);
  add_retention_routes(to);
}

} // namespace tidemark
