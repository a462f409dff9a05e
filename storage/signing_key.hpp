#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;

namespace tidemark {

/// An Ed25519 signature (RFC 8032) and the key that is said to have made it.
struct signature {
  std::vector<std::uint8_t> public_key; ///< 32 bytes
  std::vector<std::uint8_t> value;      ///< 64 bytes
};

/// The key of who signs, as `openssl genpkey -algorithm ed25519` makes it.
class signing_key {
public:
  /// A new one. Errors: `internal` (OpenSSL has no randomness or no Ed25519).
  static expected<signing_key> generate();
  /// Reads PEM (PKCS #8, without a password). Errors: `io`, `not_found`, `invalid_argument`.
  static expected<signing_key> load(const std::filesystem::path& file);

  [[nodiscard]] signature sign(std::string_view text) const;
  /// To be kept where only the signer can read it.
  [[nodiscard]] std::string private_pem() const;
  /// To be given to everybody who verifies.
  [[nodiscard]] std::string public_pem() const;

private:
  explicit signing_key(evp_pkey_st* key);
  std::shared_ptr<evp_pkey_st> key_;
};

/// The public half of a key: enough to check signatures, not to make them.
class verifying_key {
public:
  /// Reads PEM (`-----BEGIN PUBLIC KEY-----`, as `openssl pkey -pubout` writes it). Errors: `io`,
  /// `not_found`, `invalid_argument`.
  static expected<verifying_key> load(const std::filesystem::path& file);
  static expected<verifying_key> parse(std::string_view pem);

  [[nodiscard]] bool verify(std::string_view text, const std::vector<std::uint8_t>& value) const;
  /// Its 32 bytes.
  [[nodiscard]] std::vector<std::uint8_t> bytes() const;

private:
  explicit verifying_key(evp_pkey_st* key);
  std::shared_ptr<evp_pkey_st> key_;
};

} // namespace tidemark
