#include "storage/hash_chain.hpp"

#include <openssl/evp.h>

#include <new>
#include <stdexcept>

namespace tidemark {

struct sha256_hasher::context {
  EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_MD_CTX* state = EVP_MD_CTX_new();

  context() = default;
  context(const context&) = delete;
  context& operator=(const context&) = delete;
  ~context() {
    EVP_MD_CTX_free(state);
    EVP_MD_free(algorithm);
  }

  // OpenSSL fails here only for want of memory or of the algorithm, which the constructor checked.
  void begin() { EVP_DigestInit_ex2(state, algorithm, nullptr); }
  void add(std::string_view bytes) { EVP_DigestUpdate(state, bytes.data(), bytes.size()); }
  void add(const digest& bytes) { EVP_DigestUpdate(state, bytes.data(), bytes.size()); }
  void add_number(std::uint64_t number) {
    std::array<std::uint8_t, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(number >> (56 - 8 * i));
    EVP_DigestUpdate(state, bytes.data(), bytes.size());
  }
  void add_text(std::string_view text) {
    add_number(text.size());
    add(text);
  }
  digest end() {
    digest result{};
    EVP_DigestFinal_ex(state, result.data(), nullptr);
    return result;
  }
};

sha256_hasher::sha256_hasher() : context_(std::make_unique<context>()) {
  if (!context_->algorithm || !context_->state)
    throw std::runtime_error("OpenSSL offers no SHA-256");
}

sha256_hasher::~sha256_hasher() = default;

digest sha256_hasher::of(std::string_view bytes) {
  context_->begin();
  context_->add(bytes);
  return context_->end();
}

digest sha256_hasher::payload(std::string_view turn, std::string_view data, std::string_view raw) {
  const auto raw_hash = raw.empty() ? digest{} : of(raw);
  context_->begin();
  context_->add_text(turn);
  context_->add_text(data);
  if (raw.empty()) {
    context_->add_number(0);
  } else {
    context_->add_number(raw_hash.size());
    context_->add(raw_hash);
  }
  return context_->end();
}

digest sha256_hasher::link(const digest& previous, const chain_link& next) {
  context_->begin();
  context_->add(previous);
  context_->add_text(next.workspace);
  context_->add_number(next.incarnation.value);
  context_->add_number(next.at.value);
  context_->add_number(static_cast<std::uint64_t>(next.time.nanoseconds));
  context_->add_text(next.type);
  context_->add(next.payload);
  return context_->end();
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const auto byte : bytes) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 0xF]);
  }
  return text;
}

} // namespace tidemark
