#pragma once

#include "tests/support/http_client.hpp"
#include "tests/support/server_process.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tidemark::test {

/// A running server with the demo agent and a client for it: what almost every scenario needs.
struct scene {
  explicit scene(server_options how = {});

  server_process server;
  http_client client;

  /// After a restart the port differs.
  void reconnect() { client = http_client(server.url(), server.token()); }
  void kill_and_restart();

  /// Enqueues a turn through the native API and returns its id; requires the 202.
  std::string submit(const std::string& workspace, const std::string& prompt);
  /// The `turn.completed` event of a turn, once it is there.
  json completion(const std::string& workspace, const std::string& turn,
                  std::chrono::milliseconds limit = std::chrono::seconds(20)) const;
  /// Both in one.
  json run(const std::string& workspace, const std::string& prompt);
  /// All events of a workspace, page by page.
  [[nodiscard]] std::vector<json> events(const std::string& workspace,
                                         const std::string& query = "") const;
  /// Waits until an event of this type is in the log (of this turn, if given) and returns it.
  json await_event(const std::string& workspace, const std::string& type,
                   const std::string& turn = "",
                   std::chrono::milliseconds limit = std::chrono::seconds(15)) const;
  /// The workspace's queue, by the drop-in contract.
  [[nodiscard]] json queue(const std::string& workspace) const;
};

struct command_result {
  int code = -1;
  std::string out;
};

/// `tidemark <arguments>` against this server, for a shell that becomes the command.
std::string command_text(const scene& stage, const std::string& arguments);
/// Runs `tidemark <arguments>` against this server to its end.
command_result run_command(const scene& stage, const std::string& arguments);

/// Path of an endpoint of one workspace: `/api/v1/workspaces/<id>/<rest>`.
std::string of(const std::string& workspace, const std::string& rest);

/// A request body of the drop-in contract.
json message(const std::string& workspace, const std::string& content,
             const std::string& source = "test");

/// Starts `POST /api/v1/message/stream`.
sse_reader::options message_stream(const std::string& workspace, const std::string& content,
                                   const std::string& source = "test");
inline const std::string message_stream_path = "/api/v1/message/stream";

/// All `chunk`s of a v1 stream, joined: the client's result.
std::string joined_chunks(const sse_reader::frames& frames);
/// The objects of a v1 stream with this `type`.
std::vector<json> of_type(const sse_reader::frames& frames, const std::string& type);

/// Offsets 1, 2, 3 … with no hole, in order.
bool dense_from(const std::vector<json>& events, std::uint64_t first);
bool dense_from(const sse_reader::frames& events, std::uint64_t first);
/// The `data` of an event; an empty object if it has none.
const json& data_of(const json& e);
/// How a turn ended, of its `turn.completed`.
std::string outcome_of(const json& completed);
std::string text_of(const json& completed);
/// Number of events of a type.
std::size_t count_of(const std::vector<json>& events, const std::string& type);

} // namespace tidemark::test
