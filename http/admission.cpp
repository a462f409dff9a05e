#include "http/admission.hpp"

#include "http/auth.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tidemark {

namespace {

namespace bhttp = boost::beast::http;

request_refusal refusal(int status, std::string code, std::string detail) {
  auto why = request_refusal{};
  why.what.status = status;
  why.what.code = std::move(code);
  why.what.detail = std::move(detail);
  return why;
}

std::string_view value(const bhttp::request_header<>& head, bhttp::field name) {
  const auto text = head[name];
  return {text.data(), text.size()};
}

bool same_word(std::string_view a, std::string_view b) {
  return boost::beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

bool is_json(std::string_view content_type) {
  auto kind = content_type.substr(0, content_type.find(';'));
  while (kind.ends_with(' ') || kind.ends_with('\t'))
    kind.remove_suffix(1);
  return same_word(kind, "application/json");
}

/// Whether a proxy in front of us could see another end of this request than we do.
bool is_framed_doubtfully(const bhttp::request_header<>& head) {
  const auto codings = head.count(bhttp::field::transfer_encoding);
  if (codings == 0)
    return false;
  return codings > 1 || head.version() == 10 || head.count(bhttp::field::content_length) > 0
         || !same_word(value(head, bhttp::field::transfer_encoding), "chunked");
}

/// A header that decides something and is said twice: each reader would believe another one.
std::string_view ambiguous(const bhttp::request_header<>& head) {
  for (const std::string_view name :
       {"Host", "Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Authorization",
        "Content-Type", "Idempotency-Key", "Last-Event-ID"})
    if (head.count(boost::beast::string_view{name.data(), name.size()}) > 1)
      return name;
  return {};
}

std::string joined(std::vector<std::string> methods) {
  if (std::find(methods.begin(), methods.end(), "GET") != methods.end())
    methods.emplace_back("HEAD");
  std::sort(methods.begin(), methods.end());
  methods.erase(std::unique(methods.begin(), methods.end()), methods.end());
  return fmt::format("{}", fmt::join(methods, ", "));
}

/// A link to the inspector on a page of somebody else, followed into a window of its own (Fetch Metadata
/// Request Headers, W3C): the page that linked sees nothing of it, and no token goes along.
bool is_followed_link(const bhttp::request_header<>& head, const router::match& route) {
  return head.method() == bhttp::verb::get && head["Sec-Fetch-Mode"] == "navigate"
         && head["Sec-Fetch-Dest"] == "document"
         && (route.path_template == "/ui" || route.path_template == "/ui/");
}

std::optional<request_refusal> refuse_stranger(const bhttp::request_header<>& head,
                                               const router::match& route, bool with_body,
                                               const http_options& options) {
  const auto origin = value(head, bhttp::field::origin);
  const auto site = head["Sec-Fetch-Site"];
  if (auto foreign = refuse_site({site.data(), site.size()});
      !foreign.empty() && !is_followed_link(head, route))
    return refusal(403, "forbidden", std::move(foreign));
  const auto any_host = options.asks_token() || options.insecure_no_auth;
  if (auto stranger = refuse_origin(value(head, bhttp::field::host), origin, any_host);
      !stranger.empty())
    return refusal(403, "forbidden", std::move(stranger));
  if (!origin.empty() && with_body && !is_json(value(head, bhttp::field::content_type)))
    return refusal(403, "forbidden",
                   "a page must send application/json, which other origins cannot");
  return std::nullopt;
}

request_refusal refusal_of(refused_entry entry) {
  const auto code = entry.status == 401   ? "unauthorized"
                    : entry.status == 403 ? "forbidden"
                                          : "too_many_attempts";
  auto why = refusal(entry.status, code, std::move(entry.detail));
  if (entry.status == 401)
    why.headers.emplace("WWW-Authenticate", "Bearer realm=\"tidemark\"");
  if (entry.status == 429)
    why.headers.emplace("Retry-After", std::to_string(entry.retry_after.count()));
  return why;
}

} // namespace

std::optional<request_refusal> refuse_request(const bhttp::request_header<>& head,
                                              const router::match& route, bool with_body,
                                              const http_options& options,
                                              const authentication& authenticate) {
  if (head.version() != 11 && head.version() != 10)
    return refusal(505, "unsupported", "only HTTP/1.0 and HTTP/1.1 are served");
  if (is_framed_doubtfully(head))
    return refusal(400, "invalid_argument",
                   "the only Transfer-Encoding is chunked, and then without Content-Length");
  if (head.version() == 11 && head.count(bhttp::field::host) == 0) // RFC 9112, 3.2
    return refusal(400, "invalid_argument", "the header Host is missing");
  if (const auto twice = ambiguous(head); !twice.empty())
    return refusal(400, "invalid_argument", fmt::format("the header {} is given twice", twice));
  if (auto stranger = refuse_stranger(head, route, with_body, options))
    return stranger;
  // Whatever a token may do: at a path without a handler there is nothing to forbid.
  auto entry = authenticate(bearer_token(value(head, bhttp::field::authorization)));
  if (entry && (route.handler || entry->status != 403))
    return refusal_of(std::move(*entry));
  if (!route.handler && !route.allowed.empty()) {
    auto why = refusal(405, "method_not_allowed", "this path does not take that method");
    why.headers.emplace("Allow", joined(route.allowed));
    return why;
  }
  if (!route.handler)
    return refusal(404, "not_found", "there is nothing at this path");
  return std::nullopt;
}

} // namespace tidemark
