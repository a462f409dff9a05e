#pragma once

#include "http/event_query.hpp"
#include "http/exchange.hpp"

#include <chrono>
#include <string_view>

namespace tidemark {

/// One reader's endless answer, as lines or frames: writes it, keeps it alive while there is nothing to
/// say, and says why it ends where its form has a place for that. Used by one coroutine.
class reader_output {
public:
  reader_output(exchange& with, body_stream& out, event_form form)
    : with_(with),
      out_(out),
      frames_(form == event_form::frames) {}

  [[nodiscard]] bool frames() const { return frames_; }
  /// A failure was told: the answer must not look complete.
  [[nodiscard]] bool failed() const { return failed_; }

  /// False once the client is gone or too slow.
  task<bool> write(std::string_view bytes);

  /// Keeps proxies from timing out while there is nothing to say: writes if the heartbeat is due.
  task<bool> beat();

  /// Waits until something may have come or the heartbeat is due.
  task<void> wait();

  /// False, and told, once the caller's token has been revoked or has expired.
  task<bool> still_admitted();

  /// Logs the reason, and tells it to a reader of frames.
  task<void> tell_failure(error why);

private:
  using clock = std::chrono::steady_clock;

  exchange& with_;
  body_stream& out_;
  bool frames_;
  bool failed_ = false;
  clock::time_point last_write_ = clock::now();
};

} // namespace tidemark
