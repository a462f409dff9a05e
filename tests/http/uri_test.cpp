#include "http/auth.hpp"
#include "http/event_query.hpp"
#include "http/problem.hpp"
#include "http/query_values.hpp"
#include "http/router.hpp"
#include "http/uri.hpp"

#include <catch2/catch.hpp>

namespace tidemark {

SCENARIO("percent encoding decodes, and what is malformed is told apart") {
  CHECK(percent_decode("a%20b%2Fc") == "a b/c");
  CHECK(percent_decode("%e4%b8%ad") == "\xe4\xb8\xad");
  CHECK(percent_decode("a+b") == "a+b");
  CHECK(percent_decode("a+b", true) == "a b");
  CHECK(percent_decode("100%") == std::nullopt);
  CHECK(percent_decode("%zz") == std::nullopt);
  CHECK(percent_decode("%4") == std::nullopt);
}

SCENARIO("a request target splits into path and query") {
  CHECK(split_target("/a/b?x=1&y").path == "/a/b");
  CHECK(split_target("/a/b?x=1&y").query == "x=1&y");
  CHECK(split_target("/a?x=http://b/c").path == "/a");
  CHECK(split_target("http://host:1/a?x").path == "/a");
  CHECK(split_target("http://host").path == "/");
  CHECK(split_target("/a#f").path == "/a");
  CHECK(split_target("").path.empty());
}

SCENARIO("query parameters keep their order, and odd ones do no harm") {
  using pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(parse_query("a=1&b=%20&c") == pairs{{"a", "1"}, {"b", " "}, {"c", ""}});
  CHECK(parse_query("&&a==x&%zz=%") == pairs{{"a", "=x"}, {"%zz", "%"}});
  CHECK(parse_query("").empty());
}

SCENARIO("contract, Shell: a WebSocket takes its token from the target's query") {
  CHECK(token_of_query("/x?token=a%2Bb") == "a+b");
  CHECK(token_of_query("/x?keep=true&token=secret&token=other") == "secret");
  CHECK(token_of_query("/x?token=") == "");
  CHECK_FALSE(token_of_query("/x"));
  CHECK_FALSE(token_of_query("/x?access_token=secret&Token=secret"));
}

SCENARIO("contract, Transport: a bearer token is found in any case of the scheme") {
  CHECK(bearer_token("Bearer secret") == "secret");
  CHECK(bearer_token("bEARER   secret ") == "secret");
  CHECK_FALSE(bearer_token("Bearersecret"));
  CHECK_FALSE(bearer_token("Basic secret"));
  CHECK_FALSE(bearer_token("Bearer"));
  CHECK_FALSE(bearer_token(""));
}

SCENARIO("a page of another host may not ask, nor a name that a stranger's DNS points here") {
  CHECK(refuse_origin("localhost:7021", "", false).empty());
  CHECK(refuse_origin("localhost:7021", "http://localhost:7021", false).empty());
  CHECK_FALSE(refuse_origin("localhost:7021", "https://evil.example", false).empty());
  CHECK_FALSE(refuse_origin("localhost:7021", "null", true).empty());
  CHECK_FALSE(refuse_origin("evil.example", "", false).empty());
  CHECK_FALSE(refuse_origin("evil.example:7021", "http://evil.example:7021", false).empty());
  CHECK(refuse_origin("agents.example", "", true).empty());
  CHECK(refuse_origin("agents.example", "https://agents.example", true).empty());
  CHECK_FALSE(refuse_origin("localhost:7021", "http://localhost:3000", true).empty());
  CHECK_FALSE(refuse_origin("localhost:7021", "http://localhost", true).empty());
  CHECK_FALSE(refuse_origin("localhost:7021", "https://localhost:7021", false).empty());
  CHECK_FALSE(refuse_origin("[::1]:7021", "http://[::1]:7022", true).empty());
  CHECK(refuse_origin("[::1]:7021", "http://[::1]:7021", false).empty());
  CHECK(refuse_origin("localhost:80", "http://LOCALHOST", false).empty());
  for (const char* disguised : {"[::1].evil.example", "[::1]evil", "127.0.0.1:80:evil.example"})
    CHECK_FALSE(refuse_origin(disguised, "", false).empty());
  CHECK(refuse_site("").empty());
  CHECK(refuse_site("none").empty());
  CHECK(refuse_site("same-origin").empty());
  CHECK_FALSE(refuse_site("same-site").empty());
  CHECK_FALSE(refuse_site("cross-site").empty());
  CHECK(refuse_origin("sandbox:7021", "", false).empty());
  CHECK(refuse_origin("[::1]:7021", "", false).empty());
}

SCENARIO("a path finds its route, its parameters and the methods that it takes") {
  router routes;
  const auto nothing = [](exchange&) -> task<void> { co_return; };
  routes.add("GET", "/a", nothing);
  routes.add("GET", "/a/{id}", nothing);
  routes.add("DELETE", "/a/{id}", nothing);
  routes.add("POST", "/a/{id}/b/{turn}", nothing);

  CHECK(routes.find("GET", "/a").path_template == "/a");
  CHECK(routes.find("GET", "/a/x%20y").params.at("id") == "x y");
  CHECK(routes.find("HEAD", "/a/x").handler != nullptr);
  CHECK(routes.find("POST", "/a/x/b/y").params.at("turn") == "y");

  const auto wrong_method = routes.find("PATCH", "/a/x");
  CHECK(wrong_method.handler == nullptr);
  CHECK(wrong_method.allowed == std::vector<std::string>{"GET", "DELETE"});

  for (const auto* path :
       {"/", "", "/a/", "/a/x/", "/b", "/a/x/b", "/a/%zz", "//a", "/a/x/b/y/z"}) {
    INFO(path);
    const auto missing = routes.find("GET", path);
    CHECK(missing.handler == nullptr);
    CHECK((missing.path_template == "unmatched" || !missing.allowed.empty()));
  }
}

SCENARIO("each kind of failure has one status and a problem that names it") {
  CHECK(status_of(errc::invalid_argument) == 400);
  CHECK(status_of(errc::not_found) == 404);
  CHECK(status_of(errc::conflict) == 409);
  CHECK(status_of(errc::trimmed) == 410);
  CHECK(status_of(errc::too_large) == 413);
  CHECK(status_of(errc::ahead) == 416);
  CHECK(status_of(errc::internal) == 500);
  CHECK(status_of(errc::unavailable) == 503);
  CHECK(status_of(errc::deadline) == 504);
  CHECK(status_of(errc::full) == 507);

  const auto body = parse_json(problem_json(problem::of(error{errc::not_found, "no \"x\""}), "e1"));
  REQUIRE(body);
  CHECK(string_or(*body, "type") == "urn:tidemark:problem:not_found");
  CHECK(string_or(*body, "title") == "Not Found");
  CHECK(int_or(*body, "status", 0) == 404);
  CHECK(string_or(*body, "detail") == "no \"x\"");
  CHECK(string_or(*body, "err_id") == "e1");
}

SCENARIO("the form of events follows the Accept header, and waits are times") {
  CHECK(form_of("") == event_form::page);
  CHECK(form_of("*/*") == event_form::page);
  CHECK(form_of("text/event-stream") == event_form::frames);
  CHECK(form_of("application/x-ndjson, */*") == event_form::lines);
  CHECK(parse_wait("30s") == std::chrono::milliseconds{30'000});
  CHECK(parse_wait("500ms") == std::chrono::milliseconds{500});
  CHECK(parse_wait("2") == std::chrono::milliseconds{2'000});
  CHECK_FALSE(parse_wait("soon"));
  CHECK_FALSE(parse_wait("-1s"));
}

SCENARIO("a filter takes types, families of types and turns") {
  event_query q;
  CHECK(q.wants("item.delta", "t"));
  q.types = {"turn.*", "item.completed"};
  CHECK(q.wants("turn.queued", ""));
  CHECK(q.wants("item.completed", ""));
  CHECK_FALSE(q.wants("item.delta", ""));
  q.turn = "t1";
  CHECK_FALSE(q.wants("turn.queued", "t2"));
}

} // namespace tidemark
