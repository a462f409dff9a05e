#pragma once

#include "base/time.hpp"
#include "storage/event_log.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Readers whose place the server keeps (docs/events.md, Consumers). Their places are records beside
// the events, not events: decision 031.
namespace tidemark {

/// What makes a consumer push: where its events go and how that stands (decision 032).
struct webhook {
  std::string url;
  std::string secret;             ///< key of the signatures; never in a log, an event or a metric
  std::vector<std::string> types; ///< empty: all; `item.*` takes a family
  std::size_t max_attempts = 20;  ///< of one event; then the webhook is dead
  /// Another one after each change by a client: what was begun before it counts for nothing.
  std::uint64_t generation = 0;
  bool dead = false;
  std::string error; ///< why it is dead
};

/// A reader of a workspace's stream whose place the server keeps.
struct consumer {
  std::string name; ///< by the rule of workspace ids; one a workspace
  epoch incarnation;
  offset at; ///< the last event it has acknowledged, in that incarnation; 0: none
  timestamp created;
  std::string by;                 ///< who made it: the name of a token
  std::optional<timestamp> acked; ///< when its place last moved
  std::optional<webhook> push;    ///< empty: it fetches
};

/// Errors: `invalid_argument`.
expected<std::string> parse_consumer_name(std::string_view text);

/// Where a webhook that was done up to `at` of the incarnation `from` goes on in a later one: a restored log
/// has what it had at the time of its backup, and a workspace that was begun anew has nothing of it (0).
[[nodiscard]] offset carried_over(const stream_info& stream, epoch from, offset at);

/// The last event that `who` is not to get any more. A reader of another incarnation begins anew; a webhook
/// goes on in a log that was restored, with the first event that was added after the restore at the latest.
[[nodiscard]] offset place_in(const stream_info& stream, const consumer& who);

/// How many events wait for `who`. Events that retention removed wait for nobody.
[[nodiscard]] std::uint64_t lag_of(const consumer& who, const stream_info& stream);

namespace record_key {
/// Table `meta`, by name and not by stream: a consumer outlives an incarnation of its workspace.
inline constexpr std::string_view consumers = "consumer/";
std::string consumers_of(std::string_view workspace);
std::string consumer(std::string_view workspace, std::string_view name);
} // namespace record_key

/// Codec of the record.
std::string to_record(const consumer& who, std::string_view workspace);
expected<consumer> consumer_of(std::string_view record);

using consumer_map = std::map<std::string, consumer, std::less<>>;

/// The consumers of one workspace, by name. A record that cannot be read is left out and said in the
/// server's log. Blocks on the disk. Errors: `corrupt`, `io`.
expected<consumer_map> stored_consumers(const event_log& log, std::string_view workspace);

/// One of them. Blocks on the disk. Errors: `not_found`, `corrupt`, `io`.
expected<consumer> stored_consumer(const event_log& log, std::string_view workspace,
                                   std::string_view name);

/// Those of all workspaces. Blocks on the disk.
expected<std::map<std::string, consumer_map>> all_consumers(const event_log& log);

} // namespace tidemark
