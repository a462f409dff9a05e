#include "http/ui_files.hpp"
#include "server_fixture.hpp"
#include "tests/support/text.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;
using namespace tidemark::testing;

SCENARIO("the inspector's page needs no token, and lets nothing run but its own files") {
  http_options options;
  options.token = "secret-token";
  server_fixture server{options};
  const auto page = server.get("/ui/");
  CHECK(status_of(page) == 200);
  CHECK(has(page, "Content-Type: text/html; charset=utf-8\r\n"));
  CHECK(
    has(page, "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self';"));
  CHECK(has(page, "frame-ancestors 'none'"));
  CHECK(has(page, "X-Content-Type-Options: nosniff\r\n"));
  CHECK_FALSE(has(page, "unsafe-inline"));
  CHECK_FALSE(has(page, "Content-Encoding"));
  CHECK(has(body_of(page), "<title>Tidemark</title>"));
  CHECK(ui_files().empty() == has(body_of(page), "-DTIDEMARK_UI=ON"));
  const auto without_slash = server.get("/ui");
  CHECK(status_of(without_slash) == 308);
  CHECK(has(without_slash, "Location: /ui/\r\n"));
  CHECK(status_of(server.get("/ui/assets/no-such-file.js")) == 404);
  CHECK(status_of(server.get("/ui/assets/..%2Findex.html")) == 404);
}

SCENARIO("every file of the inspector is served compressed or not, and not again") {
  server_fixture server;
  for (const auto& file : ui_files()) {
    const auto path = "/ui/" + (file.path == "index.html" ? std::string{} : std::string{file.path});
    INFO(path);
    const auto plain = server.get(path);
    CHECK(status_of(plain) == 200);
    CHECK(body_of(plain).size() == file.size);
    CHECK(has(plain, file.path.starts_with("assets/") ? "immutable" : "Cache-Control: no-cache"));
    const auto packed = server.get(path, "Accept-Encoding: gzip, deflate\r\n");
    CHECK(has(packed, "Content-Encoding: gzip\r\n"));
    CHECK(body_of(packed) == file.gzip);
    const auto again = server.get(path, "If-None-Match: " + std::string{file.etag} + "\r\n");
    CHECK(status_of(again) == 304);
    CHECK(body_of(again).empty());
  }
}
