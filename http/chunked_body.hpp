#pragma once

#include "http/exchange.hpp"
#include "http/wake_event.hpp"
#include "http/wire.hpp"

#include <memory>

namespace tidemark {

/// A streamed answer on a connection of its own: chunked in HTTP/1.1, bare in 1.0.
class chunked_body final : public body_stream {
public:
  struct settings {
    std::chrono::steady_clock::duration stall{}; ///< how long the client may take no byte
    bool chunked = true;
    bool silent = false; ///< the answer to HEAD: no body at all
  };

  chunked_body(std::shared_ptr<wire> to, std::shared_ptr<wake_event> wake, settings how);
  ~chunked_body() override;

  /// Begins to watch for the client's departure. `ok`: the headers were sent.
  void start(bool ok);

  task<bool> write(std::string_view bytes) override;
  task<bool> finish() override;
  task<void> wait(std::chrono::steady_clock::duration limit) override;
  [[nodiscard]] std::function<void()> waker() override;
  [[nodiscard]] bool client_left() const override { return watch_->left; }

private:
  /// Outlives this object in the coroutine that reads until the client leaves.
  struct departure {
    bool left = false;
    std::shared_ptr<wake_event> wake;
  };
  static task<void> watch(std::shared_ptr<wire> from, std::shared_ptr<departure> told);

  /// Bytes that wait unread on the client's machine are acknowledged too: a client that dies over
  /// them resets the connection, one that has them closes it, a slow one does neither.
  task<bool> taken();

  std::shared_ptr<wire> wire_;
  std::shared_ptr<departure> watch_;
  settings how_;
  bool broken_ = false;
  bool finished_ = false;
};

} // namespace tidemark
