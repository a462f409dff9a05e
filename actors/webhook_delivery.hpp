#pragma once

#include "actors/consumer.hpp"
#include "storage/event_log.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// One event on its way to a webhook: what is sent, and what its outcome means (decision 032). Pure but
// for the sender, which is an interface.
namespace tidemark {

struct webhook_request {
  std::string url;
  std::vector<std::string> headers; ///< `Name: value`
  std::string body;
};

struct webhook_answer {
  int status = 0;    ///< of the answer; 0: none came
  std::string error; ///< why none came, without the receiver's address
};

/// Posts requests. Implemented over libcurl by app/webhook_sender.hpp; a test puts its own in its place.
class webhook_sender {
public:
  webhook_sender() = default;
  webhook_sender(const webhook_sender&) = delete;
  webhook_sender& operator=(const webhook_sender&) = delete;
  virtual ~webhook_sender() = default;

  /// Begins to post, at once: how many are on their way is the caller's concern. `done` is called
  /// once, on any thread, unless the sender goes before.
  virtual void send(webhook_request what, std::function<void(webhook_answer)> done) = 0;
};

/// `t=<seconds since 1970>,v1=<hex of HMAC-SHA-256(secret, "<t>.<body>")>`: the time is signed, so that
/// a receiver can refuse what somebody recorded and sends again later.
std::string webhook_signature(std::string_view secret, std::int64_t unix_seconds,
                              std::string_view body);

/// The request for one event. `missed`: retention removed what came before, up to here, and the
/// receiver does not know; 0: nothing.
webhook_request request_for(const webhook& push, const std::string& workspace,
                            const std::string& name, const event_view& e, offset missed);

/// How long to wait after so many failures in a row (at least 1): doubled each time from `first` up to
/// `longest`, then a random part of its second half taken off, so that receivers are not met in step.
std::chrono::milliseconds retry_delay(std::size_t failures, std::chrono::milliseconds first,
                                      std::chrono::milliseconds longest, std::uint32_t random);

enum class delivery_outcome {
  delivered, ///< 2xx
  failed,    ///< to be tried again
  refused    ///< 410: the receiver wants no more
};
delivery_outcome outcome_of(const webhook_answer& answer);

/// For people: `status 500`, or why no answer came.
std::string description_of(const webhook_answer& answer);

/// Whether an event of this type is sent: empty `types` take all, `item.*` a family.
bool takes_type(const std::vector<std::string>& types, std::string_view type);

} // namespace tidemark
