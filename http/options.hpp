#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tidemark {

/// The `http.*` settings (docs/operations.md). Every limit has a name, which its error and its
/// metric carry.
struct http_options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 7021; ///< 0: any free port, printed at start
  std::string token;         ///< INTERNAL_API_TOKEN, which grants everything
  std::string tokens_file;   ///< further tokens (http/api_tokens.hpp); with neither: loopback only
  bool insecure_no_auth = false; ///< serve other addresses without a token, loudly
  std::size_t threads = 1;
  std::size_t max_body_bytes = 64 << 20;
  std::size_t max_header_bytes = 32 << 10;
  std::size_t max_connections = 4096;
  std::size_t max_readers = 2048;                    ///< event streams at a time
  std::chrono::milliseconds request_timeout{30'000}; ///< to send one whole request
  std::chrono::milliseconds idle_timeout{60'000};    ///< between requests of one connection
  std::chrono::milliseconds write_timeout{
    30'000}; ///< a reader that takes no byte for this long is dropped
  std::chrono::milliseconds heartbeat{15'000};
  std::chrono::milliseconds proof_of_life{60'000};   ///< empty chunks of the v1 stream
  std::chrono::milliseconds answer_deadline{10'000}; ///< of one command to a workspace
  std::chrono::milliseconds max_wait{60'000};        ///< of a long poll

  /// False: everybody who reaches the server may do everything.
  [[nodiscard]] bool asks_token() const { return !token.empty() || !tokens_file.empty(); }
};

} // namespace tidemark
