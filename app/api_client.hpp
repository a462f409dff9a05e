#pragma once

#include "app/sse_parser.hpp"
#include "base/error.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tidemark {

/// Where the server is and how to speak to it.
struct api_address {
  std::string url = "http://127.0.0.1:7021";  ///< without a slash at the end
  std::string token;                          ///< sent as bearer token unless empty
  std::chrono::milliseconds patience{60'000}; ///< for the whole answer to one `call`
};

/// What a command that a person copies has to say of the server: nothing where it finds it by itself.
std::string shown_server(const api_address& server);

struct api_response {
  int status = 0;
  std::string body;
};

/// Set by the handler of SIGINT: calls return with `cancelled` soon after.
bool interrupted_by_user();
/// Makes SIGINT and SIGTERM end calls instead of the process.
void catch_interrupts();

/// The server's HTTP API as the commands use it. Blocking; one thread.
class api_client {
public:
  explicit api_client(api_address address);

  using headers = std::map<std::string, std::string>;

  /// One request. Errors: `unavailable` if the server cannot be reached, `cancelled`; for an answer
  /// of 400 and above the code that fits the status, with the server's own words.
  expected<api_response> call(std::string_view method, const std::string& path,
                              const std::string& body = {}, const headers& extra = {});

  /// Takes one piece of a body as it arrives; false ends the transfer, which is no error.
  using piece_handler = std::function<bool(std::string_view)>;
  expected<void> stream(const std::string& path, const headers& extra, const piece_handler& take);

  /// Called once an event; false ends following.
  using event_handler = std::function<bool(const sse_event&)>;
  /// Told once about each time without a connection, when it begins.
  using loss_handler = std::function<void(const error&)>;
  /// Follows an event stream and reconnects with Last-Event-ID for as long as `patience` allows
  /// without a connection. Returns when the handler or the server (`event: end`) ends it, and with
  /// the server's reason if it cannot read on (`event: error`).
  expected<void> follow(const std::string& path, const event_handler& take,
                        std::chrono::seconds patience, const loss_handler& on_loss = {});

private:
  api_address address_;
};

/// Percent-encodes one path segment or query value.
std::string percent_encoded(std::string_view text);

/// The words of an error answer: problem details (RFC 9457), the v1 `{"error":{…}}`, or the body.
error error_of_response(const api_response& response);

} // namespace tidemark
