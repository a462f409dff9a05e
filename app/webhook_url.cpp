#include "app/webhook_url.hpp"

#include "app/curl_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace tidemark {
namespace {

constexpr std::size_t longest_url = 2048;
constexpr std::size_t longest_host = 253; // RFC 1035, without the last dot
constexpr std::size_t longest_label = 63;

tl::unexpected<error> wrong(std::string why) {
  return fail(errc::invalid_argument, std::move(why));
}

/// A URL as curl reads it.
class read_url {
public:
  explicit read_url(const curl_library& library) : curl_(library), handle_(library.url()) {}
  ~read_url() { curl_.url_cleanup(handle_); }
  read_url(const read_url&) = delete;
  read_url& operator=(const read_url&) = delete;

  CURLUcode parse(const std::string& text) {
    return curl_.url_set(handle_, CURLUPART_URL, text.c_str(), 0);
  }
  [[nodiscard]] std::optional<std::string> part(CURLUPart which) const {
    char* found = nullptr;
    if (curl_.url_get(handle_, which, &found, 0) != CURLUE_OK || !found)
      return std::nullopt;
    std::string out = found;
    curl_.free(found);
    return out;
  }

private:
  const curl_library& curl_;
  CURLU* handle_;
};

/// What no library says, but every name server: labels have a length.
expected<void> check_host(std::string_view host) {
  if (host.starts_with('['))
    return {};
  if (host.ends_with('.'))
    host.remove_suffix(1);
  if (host.size() > longest_host)
    return wrong(fmt::format("its host is longer than {} characters", longest_host));
  for (auto rest = host;;) {
    const auto label = rest.substr(0, rest.find('.'));
    if (label.empty())
      return wrong(fmt::format("its host \"{}\" has an empty part between dots", host));
    if (label.size() > longest_label)
      return wrong(fmt::format("a part of its host is longer than {} characters", longest_label));
    if (label.starts_with('-') || label.ends_with('-'))
      return wrong(fmt::format("a part of its host \"{}\" begins or ends with a hyphen", host));
    if (label.size() == rest.size())
      return {};
    rest.remove_prefix(label.size() + 1);
  }
}

/// What curl would read kindly, and somebody else perhaps otherwise.
expected<void> check_text(const std::string& url) {
  if (url.empty())
    return wrong("must be the address that events are sent to, http://… or https://…");
  if (url.size() > longest_url)
    return wrong(fmt::format("is longer than {} characters", longest_url));
  const auto is_ascii = [](unsigned char c) { return c < 0x80; };
  const auto is_graphic = [](unsigned char c) { return c > ' ' && c != 0x7f; };
  if (!std::ranges::all_of(url, is_graphic))
    return wrong("holds a space or a control character: write it as %20, or leave it out");
  if (!std::ranges::all_of(url, is_ascii))
    return wrong("holds a character outside of ASCII: write its host as xn--…, others as %…");
  const auto separator = url.find("://");
  auto scheme = url.substr(0, separator == url.npos ? 0 : separator);
  std::ranges::transform(scheme, scheme.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  if (scheme != "http" && scheme != "https")
    return wrong("must begin with http:// or https://");
  constexpr std::string_view ends_host = "/?#";
  if (separator + 3 == url.size() || ends_host.find(url[separator + 3]) != ends_host.npos)
    return wrong("has no host");
  return {};
}

} // namespace

expected<void> check_webhook_url(const std::string& url) {
  if (auto fits = check_text(url); !fits)
    return fits;
  const auto library = curl_library::instance();
  if (!library)
    return tl::unexpected(library.error());
  read_url read{**library};
  if (const auto code = read.parse(url); code != CURLUE_OK)
    return wrong(fmt::format("cannot be read: {}", (*library)->url_strerror(code)));
  if (read.part(CURLUPART_USER) || read.part(CURLUPART_PASSWORD) || read.part(CURLUPART_OPTIONS))
    return wrong("must not hold a user or password");
  if (read.part(CURLUPART_FRAGMENT) || url.find('#') != url.npos)
    return wrong("must not hold a fragment (#…): no receiver ever sees it");
  if (read.part(CURLUPART_ZONEID))
    return wrong("must not name a network interface of this machine");
  if (read.part(CURLUPART_PORT) == "0")
    return wrong("names port 0, which nobody can listen at");
  const auto host = read.part(CURLUPART_HOST);
  return host ? check_host(*host) : wrong("has no host");
}

} // namespace tidemark
