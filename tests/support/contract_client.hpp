#pragma once

#include "base/json.hpp"
#include "tests/support/v1_client.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tidemark::test {

/// What a task came to for its client.
struct task_outcome {
  std::string text;                ///< the plain concatenation of the chunks
  std::optional<json> error;       ///< the `error` object; what came before it is discarded
  std::vector<json> frames;        ///< all objects, in order
  std::vector<std::string> faults; ///< where the server broke the contract
  bool clean_end = false;          ///< the body ended as HTTP says it must
  bool gave_up = false;            ///< no sign of life: the client cancelled and left

  /// The client has a result.
  [[nodiscard]] bool succeeded() const { return clean_end && !error; }
  [[nodiscard]] std::vector<json> of(const std::string& type) const;
};

/// The existing client of the drop-in contract with its habits: every call on a connection of its
/// own, streams split like Python's `str.splitlines()`, types taken at their word, a task given up,
/// and the *running* task of its workspace deleted, when no `chunk` or `tool_*` came for a time.
class contract_client {
public:
  explicit contract_client(v1_test::v1_address server) : server_(std::move(server)) {}

  /// A call whose answer must be a 200 of this shape (`contract_fault`); else throws, saying why.
  json get(const std::string& path, const std::string& shape) const;
  json post(const std::string& path, const std::string& shape, const std::string& body = {}) const;
  json remove(const std::string& path, const std::string& shape) const;
  json call(const std::string& method, const std::string& path, const std::string& shape,
            const std::string& body = {}) const;

  [[nodiscard]] const v1_test::v1_address& server() const { return server_; }

private:
  v1_test::v1_address server_;
};

/// One streamed task that the client follows.
class contract_task {
public:
  contract_task(const contract_client& client, std::string workspace, const std::string& content,
                const std::string& source = "chat-1");

  /// Reads until an object of this type has come. False if the stream ends without it.
  bool read_until(const std::string& type);
  /// Reads to the end. `patience`: how long it waits for a sign of life (300 s in the real one).
  task_outcome finish(std::chrono::milliseconds patience = std::chrono::seconds{20});
  /// What has come so far, judged as `finish` does.
  [[nodiscard]] task_outcome so_far() const;
  void leave(bool by_reset = false) { call_.leave(by_reset); }

  [[nodiscard]] v1_test::v1_call& call() { return call_; }

private:
  const contract_client& client_;
  std::string workspace_;
  v1_test::v1_call call_;
};

} // namespace tidemark::test
