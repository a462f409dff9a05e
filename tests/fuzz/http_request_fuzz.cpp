// The bytes of one connection through the reader, the router and the admission that the server uses:
// no split of them changes what is served, a request that may not go on never does, and what a
// handler would take out of a request is what was sent. Input: flags, seed of the split (2 bytes),
// then the connection's bytes.
#include "base/json.hpp"
#include "http/admission.hpp"
#include "http/auth.hpp"
#include "http/request_reader.hpp"
#include "http/router.hpp"
#include "http/uri.hpp"
#include "tests/fuzz/fuzz_input.hpp"

#include <array>

using namespace tidemark;
using tidemark::fuzz::require;

namespace {

constexpr std::string_view token = "0123456789abcdef";
constexpr std::size_t max_json_values = 64;

http_options options_of(std::uint64_t flags) {
  http_options options;
  options.max_header_bytes = 512;
  options.max_body_bytes = 256;
  options.token = flags & 1 ? std::string{token} : std::string{};
  options.insecure_no_auth = flags & 2;
  return options;
}

const router& routes() {
  static const auto made = [] {
    router to;
    for (const auto& [method, path] :
         {std::pair{"GET", "/metrics"}, std::pair{"POST", "/api/v1/message"},
          std::pair{"GET", "/api/v1/workspaces/{id}"},
          std::pair{"GET", "/api/v1/workspaces/{id}/events"},
          std::pair{"POST", "/api/v1/workspaces/{id}/turns"},
          std::pair{"GET", "/api/v1/workspaces/{id}/turns"},
          std::pair{"DELETE", "/api/v1/workspaces/{id}/queue/current"},
          std::pair{"DELETE", "/api/v1/workspaces/{id}/queue/{task_id}"},
          std::pair{"PUT", "/api/v1/settings/providers/{name}"}})
      to.add(method, path, {});
    to.add("GET", "/health", {}, scope::none);
    return to;
  }();
  return made;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const auto c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    (out += '%') += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

/// What a request came to, as a text that two runs are compared by. Beast refuses a malformed head
/// that comes in one piece at once, else at its end, so all that is no request counts as the same.
struct outcome_of_request {
  std::string text = "no request";
  bool goes_on = false;
};

void check_route(const router::match& route, std::string_view method) {
  for (const auto& [name, value] : route.params) {
    require(!value.empty(), "a parameter of a path is never empty");
    const auto again = routes().find("GET", "/api/v1/workspaces/" + percent_encoded(value));
    require(again.params.size() == 1 && again.params.begin()->second == value,
            "a parameter comes back out of its encoding", value);
  }
  require(!route.handler || route.allowed.empty(), "a found route has no other methods to offer");
  require(std::find(route.allowed.begin(), route.allowed.end(), method) == route.allowed.end(),
          "a method that is allowed is served");
}

void check_admitted(const request_reader& reader, const http_options& options,
                    std::string_view path_template) {
  const auto& head = reader.head();
  const auto text = [&](const char* name) {
    const auto value = head[name];
    return std::string_view{value.data(), value.size()};
  };
  require(head.version() == 10 || head.version() == 11, "only HTTP/1.0 and 1.1 are served");
  const auto codings = head.count("Transfer-Encoding");
  require(codings <= 1 && (codings == 0 || head.count("Content-Length") == 0),
          "a body has one end only");
  require(options.token.empty() || path_template == "/health"
            || text("Authorization").find(token) != std::string_view::npos,
          "nothing is served without the token");
  const auto site = text("Sec-Fetch-Site");
  require(site.empty() || site == "same-origin" || site == "none", "no page of another site");
  if (const auto origin = text("Origin"); !origin.empty()) {
    const auto host = host_of(text("Host"));
    require(!host.empty() && host_of(origin.substr(origin.find("://") + 3)) == host,
            "an origin is the host that was asked", origin);
  }
}

void check_parameters(std::string_view query) {
  for (const auto& [name, value] : parse_query(query)) {
    const auto again = parse_query(percent_encoded(name) + "=" + percent_encoded(value));
    require(again.size() == 1 && again[0].first == name && again[0].second == value,
            "a parameter comes back out of its encoding", query);
  }
}

void check_body(const std::string& body) {
  require(body.size() <= 256, "a body is never over its limit");
  if (const auto value = parse_json(body, max_json_values))
    require(parse_json(dump_json(*value)).has_value(), "what was read can be written", body);
}

/// What a client sends, piece by piece.
struct client {
  std::vector<std::string_view> pieces;
  std::size_t sent = 0;
  boost::beast::flat_buffer received = {};

  [[nodiscard]] bool has_sent_all() const { return sent == pieces.size(); }
  void send() {
    const auto piece = pieces[sent++];
    const auto room = received.prepare(piece.size());
    std::copy(piece.begin(), piece.end(), static_cast<char*>(room.data()));
    received.commit(piece.size());
  }
};

/// One request, as http/connection.cpp reads it. Takes input until it is decided.
outcome_of_request serve_one(client& from, const http_options& options) {
  request_reader reader{options};
  problem why;
  const auto receive = [&](request_reader::part what) {
    for (;;) {
      const auto came = reader.advance(what, from.received, why);
      if (came != request_reader::step::need_more || from.has_sent_all())
        return came;
      from.send();
    }
  };
  const auto head = receive(request_reader::part::head);
  if (head != request_reader::step::done)
    return {};
  const auto target = split_target(reader.target());
  const auto route = routes().find(reader.method(), target.path);
  check_route(route, reader.method());
  const auto authenticate =
    [&](std::optional<std::string_view> given) -> std::optional<refused_entry> {
    if (!options.asks_token() || route.needed == scope::none || given == token)
      return std::nullopt;
    return refused_entry{401, "not the token"};
  };
  if (const auto no =
        refuse_request(reader.head(), route, reader.announces_body(), options, authenticate))
    return {no->what.detail};
  check_admitted(reader, options, route.path_template);
  check_parameters(target.query);
  const auto body = receive(request_reader::part::body);
  if (body != request_reader::step::done)
    return {};
  const auto request = reader.release();
  check_body(request.body());
  return {std::string{route.path_template} + " " + request.body(), request.keep_alive()};
}

std::string serve(std::vector<std::string_view> pieces, const http_options& options) {
  std::string served;
  client from{std::move(pieces)};
  for (auto going = true; going && (from.received.size() > 0 || !from.has_sent_all());) {
    auto outcome = serve_one(from, options);
    going = outcome.goes_on;
    served += outcome.text + "\n";
  }
  return served;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in{data, size};
  const auto options = options_of(in.number(1));
  const auto seed = in.number(2);
  const auto whole = serve(fuzz::pieces_of(in.rest(), 0), options);
  for (const auto how : {std::uint64_t{1}, seed})
    require(serve(fuzz::pieces_of(in.rest(), how), options) == whole, "every split is served alike",
            whole);
  return 0;
}
