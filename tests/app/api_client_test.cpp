#include "app/api_client.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;

SCENARIO("what the server says about a failure reaches the user, in every form it says it") {
  const auto problem =
    error_of_response({404, R"({"title":"Not found","detail":"no workspace \"x\""})"});
  CHECK(problem.code == errc::not_found);
  CHECK(problem.message == "no workspace \"x\"");

  const auto v1 =
    error_of_response({401, R"({"error":{"code":"UNAUTHORIZED","message":"wrong token"}})"});
  CHECK(v1.code == errc::unauthorized);
  CHECK(v1.message == "wrong token");

  const auto proxy = error_of_response({502, "<html>Bad gateway</html>"});
  CHECK(proxy.code == errc::internal);
  CHECK_THAT(proxy.message, Catch::Contains("502"));
  CHECK(error_of_response({400, "[1]"}).code == errc::invalid_argument);
}

SCENARIO("names go into paths percent-encoded") {
  CHECK(percent_encoded("a-b_c.9~") == "a-b_c.9~");
  CHECK(percent_encoded("a/b?c d%") == "a%2Fb%3Fc%20d%25");
}
