#pragma once

#include "base/json.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tidemark::test {

/// One request that a receiver got.
struct received_event {
  std::map<std::string, std::string> headers; ///< names in lower case
  std::string body;
  int answered = 0; ///< the status

  [[nodiscard]] json parsed() const;
  /// Of the event in the body; 0 if there is none.
  [[nodiscard]] std::uint64_t offset() const;
  [[nodiscard]] std::string type() const;
  /// Whether `Tidemark-Signature` is that of this body with this secret, made less than 5 min ago.
  [[nodiscard]] bool signed_with(const std::string& secret) const;
};

/// Receives webhooks on loopback, on a thread of its own. Thread-safe.
class webhook_receiver {
public:
  webhook_receiver();
  ~webhook_receiver();
  webhook_receiver(const webhook_receiver&) = delete;
  webhook_receiver& operator=(const webhook_receiver&) = delete;

  [[nodiscard]] std::string url() const;
  /// What is answered from now on; 200 at first. With `location` as a redirect there.
  void answer_with(int status, std::string location = {});

  using events = std::vector<received_event>;
  [[nodiscard]] events all() const;
  /// Those that were answered with 2xx.
  [[nodiscard]] events taken() const;
  /// Waits until `enough` holds for all that came so far.
  bool wait(const std::function<bool(const events&)>& enough,
            std::chrono::milliseconds limit = std::chrono::seconds(20)) const;
  bool wait_for_type(const std::string& type) const;

private:
  void run();
  void serve(int connection);

  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_; ///< guards what follows
  mutable std::condition_variable changed_;
  events received_;
  int status_ = 200;
  std::string location_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

} // namespace tidemark::test
