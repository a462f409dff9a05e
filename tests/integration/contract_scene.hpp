#pragma once

#include "tests/integration/scene.hpp"
#include "tests/support/contract_client.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace tidemark::test {

/// A server and the existing client of its contract.
struct contract_scene : scene {
  explicit contract_scene(server_options how = {}) : scene(std::move(how)), old(address()) {}

  contract_client old;

  [[nodiscard]] v1_test::v1_address address() const {
    const auto& url = server.url();
    const auto port = std::stoul(url.substr(url.rfind(':') + 1));
    return {static_cast<std::uint16_t>(port), server.token()};
  }
  /// Starts the server again and finds it.
  void start_again() {
    server.start();
    reconnect();
    old = contract_client(address());
  }
  /// The queue as the existing client sees it.
  [[nodiscard]] json queue_of(const std::string& workspace) const {
    return old.get(of(workspace, "queue"), "QueueStatus");
  }
  [[nodiscard]] bool is_idle(const std::string& workspace) const {
    const auto queue = queue_of(workspace);
    return queue.at("current_task").is_null() && queue.at("queue_length") == 0;
  }
  /// What is pending, without taking it.
  [[nodiscard]] json peek(const std::string& workspace) const {
    return old.get(of(workspace, "pending-results?ack=false"), "PendingResults");
  }
};

} // namespace tidemark::test
