#include "storage/hash_chain.hpp"

#include <openssl/evp.h>

#include <algorithm>
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

struct running_sha256::context {
  EVP_MD_CTX* state = EVP_MD_CTX_new();
};

running_sha256::running_sha256() : context_(std::make_unique<context>()) {
  if (!context_->state || EVP_DigestInit_ex(context_->state, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("OpenSSL offers no SHA-256");
}

running_sha256::~running_sha256() {
  EVP_MD_CTX_free(context_->state);
}

void running_sha256::add(std::string_view piece) {
  EVP_DigestUpdate(context_->state, piece.data(), piece.size());
}

digest running_sha256::end() {
  digest result{};
  EVP_DigestFinal_ex(context_->state, result.data(), nullptr);
  EVP_DigestInit_ex(context_->state, EVP_sha256(), nullptr);
  return result;
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

std::optional<std::vector<std::uint8_t>> from_hex(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::vector<std::uint8_t> bytes;
  for (; text.size() >= 2; text.remove_prefix(2)) {
    const auto high = digits.find(text[0]);
    const auto low = digits.find(text[1]);
    if (high == digits.npos || low == digits.npos)
      return std::nullopt;
    bytes.push_back(static_cast<std::uint8_t>(high << 4 | low));
  }
  return text.empty() ? std::optional{std::move(bytes)} : std::nullopt;
}

std::optional<digest> digest_from_hex(std::string_view text) {
  const auto bytes = from_hex(text);
  digest result{};
  if (!bytes || bytes->size() != result.size())
    return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), result.begin());
  return result;
}

} // namespace tidemark
