#pragma once

#include "actors/commands.hpp"
#include "http/exchange.hpp"

#include <initializer_list>
#include <string>
#include <string_view>

// What the calls of consumers and of webhooks have in common.
namespace tidemark {

/// A consumer of a route: `{id}` and `{name}`.
struct consumer_address {
  std::string workspace;
  std::string name;
};

/// Errors: `invalid_argument`.
expected<consumer_address> consumer_address_of(const exchange& with);

/// The body as a JSON object with these members at most; an empty one is an empty object.
/// Errors: `invalid_argument`, `too_large`.
expected<json> object_of(const std::string& body, std::initializer_list<std::string_view> known);

/// The member `from`: `first` (also if it is absent), `head` or a cursor.
expected<consumer_start> consumer_start_of(const json& body);

/// The first event that is there, if retention has removed some: who begins now has missed none of those.
void skip_removed(consumer_start& from, const event_log& log, const std::string& workspace);

/// Who sees a webhook's URL whole: those who may set it. To others it is a secret as well, since many
/// receivers know their senders by it alone.
enum class url_view { whole, masked };
url_view url_view_of(const exchange& with);

/// Scheme, host and port, and `…` for what follows.
std::string masked_url(std::string_view url);

/// A consumer as clients see it; of a webhook the secret only as fingerprint, and how its deliveries
/// fail, if they do.
json shown(const consumer& who, const stream_info& stream, url_view how,
           const delivery_troubles& troubles);

/// Which of the workspace's webhooks fail. None are known while the actor that delivers does not answer.
task<delivery_troubles_ptr> find_troubles(exchange& with, std::string workspace);

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
