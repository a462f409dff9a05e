// A page in somebody's browser must not be able to use a server on that machine.
#include "tests/integration/scene.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <string>

using namespace tidemark;
using namespace tidemark::test;

namespace {

const std::string body = R"({"prompt":"TOOL touch x"})";

/// What pages of other origins can make a browser send.
const std::map<std::string, std::string> foreign_pages[] = {
  {{"Origin", "https://evil.example"}, {"Content-Type", "text/plain"}},
  {{"Origin", "https://evil.example"}, {"Content-Type", "application/json"}},
  {{"Origin", "null"}, {"Content-Type", "text/plain"}},
  {{"Origin", "http://localhost.evil.example"}},
  {{"Origin", "http://127.0.0.1:1"}},
  {{"Sec-Fetch-Site", "cross-site"}, {"Content-Type", "text/plain"}},
  {{"Sec-Fetch-Site", "same-site"}},
};

void check_refused(const http_reply& answer) {
  INFO("answer " << answer.status << ": " << answer.body);
  CHECK(answer.status == 403);
  CHECK(answer.headers.count("access-control-allow-origin") == 0);
}

} // namespace

SCENARIO("B76: requests of foreign pages are refused without effect, with a token and without") {
  for (const char* token : {"", "test-token"}) {
    INFO("token \"" << token << '"');
    const scene stage({.token = token});
    for (const auto& headers : foreign_pages) {
      INFO(json(headers).dump());
      const auto send = [&](const std::string& method, const std::string& path) {
        const auto with = method == "POST" ? std::optional(body) : std::nullopt;
        return stage.client.send(
          {.method = method, .path = path, .body = with, .headers = headers});
      };
      check_refused(send("POST", of("demo", "turns")));
      check_refused(send("POST", message_stream_path));
      check_refused(send("DELETE", of("demo", "queue/current")));
      check_refused(send("GET", "/api/v1/status"));
      auto reading = headers;
      reading["Accept"] = "text/event-stream";
      check_refused(stage.client.send({.path = of("demo", "events"), .headers = reading}));
    }
    const auto preflight = stage.client.send(
      {.method = "OPTIONS",
       .path = of("demo", "turns"),
       .headers = {{"Origin", "https://evil.example"}, {"Access-Control-Request-Method", "POST"}}});
    check_refused(preflight);
    CHECK(stage.client.get(of("demo", "events")).status == 404);
  }
}

SCENARIO("a link to the inspector may stand on any page, and nothing but a link") {
  const scene stage;
  const auto status_of = [&](const std::string& path, const char* mode, const char* destination) {
    return stage.client
      .send({.path = path,
             .headers = {{"Sec-Fetch-Site", "cross-site"},
                         {"Sec-Fetch-Mode", mode},
                         {"Sec-Fetch-Dest", destination}}})
      .status;
  };
  CHECK(status_of("/ui/", "navigate", "document") != 403);
  CHECK(status_of("/ui", "navigate", "document") == 308);
  CHECK(status_of("/ui/", "navigate", "iframe") == 403);
  CHECK(status_of("/ui/", "no-cors", "document") == 403);
  CHECK(status_of("/ui/assets/index.js", "navigate", "document") == 403);
  CHECK(status_of("/api/v1/events", "navigate", "document") == 403);
  CHECK(status_of("/metrics", "navigate", "document") == 403);
}

SCENARIO("B76: without a token a name that is made to point here is refused") {
  const scene stage({.token = ""});
  for (const char* host : {"evil.example", "evil.example:7021", "127.0.0.1.evil.example"}) {
    INFO(host);
    check_refused(stage.client.send({.path = "/api/v1/status", .headers = {{"Host", host}}}));
    check_refused(stage.client.send(
      {.method = "POST", .path = of("demo", "turns"), .body = body, .headers = {{"Host", host}}}));
  }
  CHECK(stage.client.get(of("demo", "events")).status == 404);
  CHECK(stage.client.get("/api/v1/status").status == 200);
}

SCENARIO("B76: nothing but loopback is served without a token") {
  CHECK_THROWS(server_process({.environment = {{"HOST", "0.0.0.0"}}, .token = ""}));
  CHECK_THROWS(server_process({.environment = {{"HOST", "::"}}, .token = ""}));
}

SCENARIO("B76: a token in a URL opens nothing, and no token is ever printed") {
  scene stage({.environment = {{"TIDEMARK_SERVER_LOG_LEVEL", "debug"}}, .token = "secret-of-url"});
  const http_client stranger(stage.server.url(), "");
  for (const char* name : {"token", "access_token", "api_key"}) {
    const std::string query = std::string("?") + name + "=secret-of-url";
    CHECK(stranger.get("/api/v1/status" + query).status == 401);
    CHECK(stranger.get(of("demo", "events") + query).status == 401);
  }
  stage.run("demo", "hello");
  CHECK(stage.server.output().find("secret-of-url") == std::string::npos);
}
