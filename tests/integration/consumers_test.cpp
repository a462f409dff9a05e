// Consumers of the real server: their places survive everything that it does.
#include "tests/integration/scene.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;

namespace {

const auto audit = of("demo", "consumers/audit");

http_reply put(const scene& stage, const json& body = json::object()) {
  return stage.client.send({.method = "PUT",
                            .path = audit,
                            .body = dump_json(body),
                            .headers = {{"Content-Type", "application/json"}}});
}

http_reply acknowledge(const scene& stage, const json& place) {
  return stage.client.post(audit + "/ack", json::object({{"offset", place}}));
}

} // namespace

SCENARIO("a consumer's acknowledged place survives SIGKILL, and it resumes exactly behind it") {
  scene stage;
  stage.run("demo", "WORDS 20");
  REQUIRE(put(stage).status == 201);
  CHECK(put(stage).status == 200);
  const auto page = stage.client.get(of("demo", "events?consumer=audit&limit=5")).parsed();
  CHECK(int_or(array_at(page, "events").at(0), "offset", 0) == 1);
  REQUIRE(acknowledge(stage, string_or(page, "next")).status == 200);
  stage.kill_and_restart();
  const auto kept = stage.client.get(audit).parsed();
  CHECK(string_or(kept, "cursor") == string_or(page, "next"));
  CHECK(int_or(kept, "lag", -1) == int_or(kept, "head", -2) - 5);
  sse_reader reader{stage.client, of("demo", "events?consumer=audit")};
  REQUIRE(reader.wait_for("turn.completed"));
  CHECK(dense_from(reader.events(), 6));
  // What was read and not acknowledged comes again.
  sse_reader again{stage.client, of("demo", "events?consumer=audit")};
  REQUIRE(again.wait_for("turn.completed"));
  CHECK(dense_from(again.events(), 6));
}

SCENARIO("acknowledgements go forward only, and not beyond the head or into another epoch") {
  scene stage;
  stage.run("demo", "hello");
  put(stage);
  CHECK(acknowledge(stage, 3).status == 200);
  const auto lower = acknowledge(stage, 2);
  CHECK(lower.status == 200);
  CHECK(int_or(lower.parsed(), "offset", 0) == 3);
  const auto beyond = acknowledge(stage, 1'000'000);
  CHECK(beyond.status == 416);
  CHECK(string_or(beyond.parsed(), "code") == "ahead");
  CHECK(acknowledge(stage, "9-1").status == 409);
  CHECK(acknowledge(stage, "later").status == 400);
  CHECK(int_or(stage.client.get(audit).parsed(), "offset", 0) == 3);
}

SCENARIO("a deleted consumer is gone, and one of an unknown workspace is never there") {
  scene stage;
  stage.run("demo", "hello");
  put(stage);
  CHECK(stage.client.remove(audit).status == 204);
  CHECK(stage.client.get(audit).status == 404);
  CHECK(stage.client.remove(audit).status == 404);
  CHECK(stage.client.get(of("demo", "events?consumer=audit")).status == 404);
  CHECK(acknowledge(stage, 1).status == 404);
  CHECK(stage.client.get(of("nobody", "consumers")).status == 404);
  CHECK(stage.client
          .send({.method = "PUT",
                 .path = of("nobody", "consumers/x"),
                 .body = "{}",
                 .headers = {{"Content-Type", "application/json"}}})
          .status
        == 404);
}

SCENARIO("the limit of consumers has a name, and lags are in the metrics and on the command line") {
  server_options how;
  how.environment["TIDEMARK_CONSUMERS_MAX"] = "1";
  scene stage{how};
  stage.run("demo", "hello");
  put(stage, json::object({{"from", "head"}}));
  CHECK(stage.client
          .send({.method = "PUT",
                 .path = of("demo", "consumers/second"),
                 .body = "{}",
                 .headers = {{"Content-Type", "application/json"}}})
          .status
        == 409);
  stage.run("demo", "hello again");
  const auto lag = int_or(stage.client.get(audit).parsed(), "lag", 0);
  CHECK(lag > 0);
  const auto line =
    "tidemark_consumer_lag{consumer=\"audit\",workspace=\"demo\"} " + std::to_string(lag) + "\n";
  CHECK(stage.client.get("/metrics").body.find(line) != std::string::npos);
  const auto listed = run_command(stage, "consumers demo");
  CHECK(listed.code == 0);
  CHECK(listed.out.find("audit") != std::string::npos);
  CHECK(listed.out.find(std::to_string(lag) + " behind") != std::string::npos);
  stage.client.remove(audit);
  CHECK(stage.client.get("/metrics").body.find("tidemark_consumer_lag{") == std::string::npos);
}
