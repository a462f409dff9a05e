#include "storage/signing_key.hpp"

#include "storage/files.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <stdexcept>

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::size_t most_key_bytes = 16 << 10;

struct free_bio {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
};
using bio_ptr = std::unique_ptr<BIO, free_bio>;

bio_ptr bio_of(std::string_view text) {
  return bio_ptr{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

/// Instead of a question on the terminal, which nobody may be at.
int no_password(char*, int, int, void*) {
  return -1;
}

expected<std::string> read_pem(const std::filesystem::path& file) {
  auto text = files::read_whole(file, most_key_bytes);
  if (!text)
    return tl::unexpected(text.error());
  if (!*text)
    return fail(errc::not_found, fmt::format("there is no file {}", file.string()));
  return std::move(**text);
}

std::vector<std::uint8_t> public_bytes(evp_pkey_st* key) {
  std::vector<std::uint8_t> bytes(32);
  auto size = bytes.size();
  if (EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) != 1)
    size = 0;
  bytes.resize(size);
  return bytes;
}

struct free_context {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};
using context_ptr = std::unique_ptr<EVP_MD_CTX, free_context>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

} // namespace

signing_key::signing_key(evp_pkey_st* key) : key_(key, EVP_PKEY_free) {}

expected<signing_key> signing_key::generate() {
  auto* made = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  if (!made)
    return fail(errc::internal, "OpenSSL made no Ed25519 key");
  return signing_key{made};
}

expected<signing_key> signing_key::load(const std::filesystem::path& file) {
  const auto pem = read_pem(file);
  if (!pem)
    return tl::unexpected(pem.error());
  const auto bio = bio_of(*pem);
  auto* key = PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr);
  ERR_clear_error();
  if (key && EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519)
    return signing_key{key};
  EVP_PKEY_free(key);
  return fail(errc::invalid_argument,
              fmt::format("{} holds no private Ed25519 key in PEM without a password; `tidemark "
                          "checkpoint --new-key <file>` makes one",
                          file.string()));
}

signature signing_key::sign(std::string_view text) const {
  std::vector<std::uint8_t> value(64);
  auto size = value.size();
  const context_ptr context{EVP_MD_CTX_new()};
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1
      || EVP_DigestSign(context.get(), value.data(), &size, bytes_of(text), text.size()) != 1)
    throw std::runtime_error("OpenSSL does not sign");
  value.resize(size);
  return {public_bytes(key_.get()), std::move(value)};
}

std::string signing_key::private_pem() const {
  const bio_ptr bio{BIO_new(BIO_s_mem())};
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr)
      != 1)
    throw std::runtime_error("OpenSSL does not write the key");
  return text_of(bio.get());
}

std::string signing_key::public_pem() const {
  const bio_ptr bio{BIO_new(BIO_s_mem())};
  if (PEM_write_bio_PUBKEY(bio.get(), key_.get()) != 1)
    throw std::runtime_error("OpenSSL does not write the key");
  return text_of(bio.get());
}

verifying_key::verifying_key(evp_pkey_st* key) : key_(key, EVP_PKEY_free) {}

expected<verifying_key> verifying_key::load(const std::filesystem::path& file) {
  const auto pem = read_pem(file);
  if (!pem)
    return tl::unexpected(pem.error());
  auto key = parse(*pem);
  if (!key)
    return fail(key.error().code, file.string(), key.error());
  return key;
}

expected<verifying_key> verifying_key::parse(std::string_view pem) {
  const auto bio = bio_of(pem);
  auto* key = PEM_read_bio_PUBKEY(bio.get(), nullptr, no_password, nullptr);
  ERR_clear_error();
  if (key && EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519)
    return verifying_key{key};
  EVP_PKEY_free(key);
  return fail(errc::invalid_argument,
              "this is no public Ed25519 key in PEM (-----BEGIN PUBLIC KEY-----)");
}

bool verifying_key::verify(std::string_view text, const std::vector<std::uint8_t>& value) const {
  const context_ptr context{EVP_MD_CTX_new()};
  const bool is_right =
    context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1
    && EVP_DigestVerify(context.get(), value.data(), value.size(), bytes_of(text), text.size())
         == 1;
  ERR_clear_error();
  return is_right;
}

std::vector<std::uint8_t> verifying_key::bytes() const {
  return public_bytes(key_.get());
}

} // namespace tidemark
