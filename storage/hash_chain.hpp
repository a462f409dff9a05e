#pragma once

#include "storage/event.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// Everything of an event that its place in the chain commits to.
struct chain_link {
  std::string_view workspace;
  epoch incarnation;
  offset at;
  timestamp time;
  std::string_view type;
  digest payload{}; ///< see `sha256_hasher::payload`
};

/// SHA-256 for the hash chain and for content-addressed files. Reuses one context, because making
/// one costs more than hashing an event. One thread at a time.
class sha256_hasher {
public:
  sha256_hasher();
  ~sha256_hasher();
  sha256_hasher(const sha256_hasher&) = delete;
  sha256_hasher& operator=(const sha256_hasher&) = delete;

  [[nodiscard]] digest of(std::string_view bytes);

  /// SHA256(turn | data | SHA256(raw)), each part preceded by its length; an empty raw is a zero.
  /// The raw line goes in as its hash, so that the chain can be checked without its bytes.
  [[nodiscard]] digest payload(std::string_view turn, std::string_view data, std::string_view raw);

  /// h_n = SHA256(h_{n-1} | stream | epoch | offset | time | type | payload). Numbers are 8 bytes
  /// big-endian; stream (its name) and type are preceded by their length. h_0 is 32 zero bytes.
  ///
  /// The payload goes in as its hash, so that a payload can be redacted without breaking the chain.
  [[nodiscard]] digest link(const digest& previous, const chain_link& next);

private:
  struct context;
  std::unique_ptr<context> context_;
};

/// SHA-256 of what comes piece by piece. One thread at a time.
class running_sha256 {
public:
  running_sha256();
  ~running_sha256();
  running_sha256(const running_sha256&) = delete;
  running_sha256& operator=(const running_sha256&) = delete;

  void add(std::string_view piece);
  /// Of all pieces so far; it begins anew then.
  [[nodiscard]] digest end();

private:
  struct context;
  std::unique_ptr<context> context_;
};

/// Lower-case hexadecimal.
std::string to_hex(std::span<const std::uint8_t> bytes);
/// The bytes of hexadecimal text in lower case; nothing if it is none.
std::optional<std::vector<std::uint8_t>> from_hex(std::string_view text);
std::optional<digest> digest_from_hex(std::string_view text);

} // namespace tidemark
