#include "http/auth.hpp"

#include "http/uri.hpp"

#include <boost/asio/ip/address.hpp>

namespace tidemark {

namespace {

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

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer";
  authorization = trimmed(authorization);
  if (authorization.size() <= scheme.size()
      || !equal_ignoring_case(authorization.substr(0, scheme.size()), scheme)
      || (authorization[scheme.size()] != ' ' && authorization[scheme.size()] != '\t'))
    return std::nullopt;
  return trimmed(authorization.substr(scheme.size()));
}

std::optional<std::string> token_of_query(std::string_view target) {
  for (auto& [name, value] : parse_query(split_target(target).query))
    if (name == "token")
      return std::move(value);
  return std::nullopt;
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
    own.empty() || is_address(own) || is_loopback(own) || own.find_first_of(".:[") == own.npos;
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
