#include "http/auth.hpp"

#include "http/uri.hpp"

#include <boost/asio/ip/address.hpp>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <array>

namespace tidemark {

namespace {

using hash = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

hash hash_of(std::string_view text) {
  hash out{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data());
  return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  if (a.size() != b.size())
    return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i]))
      return false;
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

bool is_address(std::string_view host) {
  boost::system::error_code failed;
  boost::asio::ip::make_address(std::string{host}, failed);
  return !failed;
}

struct authority {
  std::string host;
  std::string_view port;
};

authority authority_of(std::string_view text, std::string_view default_port) {
  const auto after_host = text.starts_with('[') ? text.find(']') : std::size_t{0};
  const auto colon = after_host == text.npos ? text.npos : text.find(':', after_host);
  const auto port = colon == text.npos ? std::string_view{} : text.substr(colon + 1);
  return {host_of(text), port.empty() ? default_port : port};
}

/// `https` is ours only where something in front of us may speak it (`any_host`).
bool is_own_origin(std::string_view host, std::string_view origin, bool any_host) {
  constexpr std::string_view plain = "http://";
  constexpr std::string_view secure = "https://";
  const auto is_secure = origin.starts_with(secure);
  if (!origin.starts_with(plain) && !(is_secure && any_host))
    return false;
  const auto default_port = is_secure ? "443" : "80";
  const auto other = authority_of(origin.substr((is_secure ? secure : plain).size()), default_port);
  const auto own = authority_of(host, default_port);
  return !other.host.empty() && other.host == own.host && other.port == own.port;
}

} // namespace

bool same_secret(std::string_view given, std::string_view expected) {
  // Hashes have one length, so neither content nor length of the secret shows in the time.
  const auto a = hash_of(given);
  const auto b = hash_of(expected);
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool bears_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view scheme = "bearer";
  authorization = trimmed(authorization);
  if (authorization.size() <= scheme.size()
      || !equal_ignoring_case(authorization.substr(0, scheme.size()), scheme)
      || (authorization[scheme.size()] != ' ' && authorization[scheme.size()] != '\t'))
    return false;
  return same_secret(trimmed(authorization.substr(scheme.size())), token);
}

std::string websocket_authorization(std::string_view authorization, std::string_view query) {
  if (authorization.empty())
    for (const auto& [name, value] : parse_query(query))
      if (name == "token")
        return "Bearer " + value;
  return std::string{authorization};
}

std::string refuse_site(std::string_view fetch_site) {
  if (fetch_site.empty() || fetch_site == "same-origin" || fetch_site == "none")
    return {};
  return "requests from pages of another origin are refused";
}

std::string refuse_origin(std::string_view host, std::string_view origin, bool any_host) {
  if (!origin.empty() && !is_own_origin(host, origin, any_host))
    return "requests from pages of another origin are refused";
  const auto own = host_of(host);
  const auto local_name =
    own.empty() || is_address(own) || is_loopback(own) || own.find('.') == own.npos;
  if (!any_host && !local_name)
    return "without an API token only local host names are served; configure INTERNAL_API_TOKEN";
  return {};
}

bool is_loopback(std::string_view host) {
  if (equal_ignoring_case(host, "localhost"))
    return true;
  boost::system::error_code failed;
  const auto address = boost::asio::ip::make_address(std::string{host}, failed);
  return !failed && address.is_loopback();
}

} // namespace tidemark
