#pragma once

#include "http/api_tokens.hpp"
#include "http/exchange.hpp"
#include "http/reader_seat.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Method and path template -> handler. Templates are literal segments and `{name}` parameters;
/// the template is also the metrics label.
class router {
public:
  /// `needed` is what the caller's token must grant; by default `read` for GET, else `write`.
  void add(std::string_view method, std::string_view path_template, route_handler handler,
           std::optional<scope> needed = std::nullopt);
  /// A path that speaks WebSocket. Its handler is also called for clients that are not authorised
  /// (exchange::authorized): what such a client understands is a close code, not a status.
  void add_websocket(std::string_view path_template, route_handler handler, scope needed);

  struct match {
    const route_handler* handler = nullptr; ///< null: no route for this path or method
    std::string_view path_template = "unmatched";
    scope needed = scope::read; ///< also without a handler: strangers learn of no path
    bool websocket = false;
    std::map<std::string, std::string, std::less<>> params; ///< percent-decoded
    std::vector<std::string> allowed; ///< methods of the path, if only the method is wrong
  };
  [[nodiscard]] match find(std::string_view method, std::string_view path) const;

  /// One route as others may know it; the views live as long as the router.
  struct entry {
    std::string_view method;
    std::string_view path_template;
    scope needed;
    bool websocket;
  };
  /// Every route, in the order in which they were added.
  [[nodiscard]] std::vector<entry> entries() const;

private:
  struct route {
    std::string method;
    std::string path_template;
    std::vector<std::string> segments;
    route_handler handler;
    scope needed;
    bool websocket = false;
  };
  std::vector<route> routes_;
};

// Each API family adds its routes; one file a family.
void add_operations_routes(
  router& to);                    ///< /health, /ready, /metrics           (http/operations_api.cpp)
void add_turn_routes(router& to); ///< native: turns                       (http/turns_api.cpp)
void add_event_routes(router& to, const std::shared_ptr<reader_count>& seats);
///< native: events of one workspace     (http/events_api.cpp)
void add_audit_routes(router& to, const std::shared_ptr<reader_count>& seats);
///< native: events of all workspaces    (http/audit_api.cpp)
void add_consumer_routes(
  router& to); ///< native: readers' kept places         (http/consumers_api.cpp)
void add_webhook_routes(
  router& to); ///< native: readers that are pushed to   (http/webhooks_api.cpp)
void add_verify_routes(router& to);  ///< native: proof of one workspace      (http/verify_api.cpp)
void add_backup_routes(router& to);  ///< native: copies of the log           (http/backup_api.cpp)
void add_message_routes(router& to); ///< v1: POST /message, /message/stream  (http/message_api.cpp)
void add_workspace_routes(
  router& to); ///< v1: workspaces, queue, pending, sessions, tools, status (http/workspace_api.cpp)
void add_shell_routes(router& to); ///< v1: shells, over REST and WebSocket   (http/shell_api.cpp)
void add_permission_routes(
  router& to); ///< native: requests that wait for a person (http/permissions_api.cpp)
void add_openapi_routes(
  router& to); ///< /openapi.json, which describes them  (http/openapi_api.cpp)

void add_retention_routes(
  router& to); ///< native: what is kept of one workspace (http/retention_api.cpp)

/// All of the above: what a server answers.
void add_all_routes(router& to); // http/routes.cpp

} // namespace tidemark
