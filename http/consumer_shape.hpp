#pragma once

#include "actors/commands.hpp"
#include "http/exchange.hpp"

#include <string>

// What the calls of consumers and of webhooks have in common.
namespace tidemark {

/// A consumer of a route: `{id}` and `{name}`.
struct consumer_address {
  std::string workspace;
  std::string name;
};

/// Errors: `invalid_argument`.
expected<consumer_address> consumer_address_of(const exchange& with);

/// The body as a JSON object; an empty one is an empty object. Errors: `invalid_argument`.
expected<json> object_of(const std::string& body);

/// The member `from`: `first` (also if it is absent), `head` or a cursor.
expected<consumer_start> consumer_start_of(const json& body);

/// The first event that is there, if retention has removed some: who begins now has missed none of those.
void skip_removed(consumer_start& from, const event_log& log, const std::string& workspace);

/// A consumer as clients see it; of a webhook the secret only as fingerprint.
json shown(const consumer& who, const stream_info& stream);

/// A consumer with the stream that it reads.
struct placed_consumer {
  consumer who;
  stream_info stream;
};

/// Reads one from the log on the blocking pool. Errors: `not_found`, `io`.
task<expected<placed_consumer>> find_placed(exchange& with, consumer_address where);

/// Answers with the consumers of the workspace that the path names, as the array `member`: all, or its webhooks.
task<void> send_placed(exchange& with, const char* member, bool webhooks_only);

} // namespace tidemark
