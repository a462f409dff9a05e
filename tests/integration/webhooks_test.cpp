// Webhooks of the real server, at a receiver on loopback (docs/events.md, Webhooks).
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/webhook_receiver.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace tidemark;
using namespace tidemark::test;

namespace {

const auto hook = of("demo", "webhooks/hook");
const std::string secret = "a secret of the test";

server_options quick() {
  server_options how;
  how.environment["TIDEMARK_WEBHOOKS_ALLOW_PRIVATE"] = "true";
  how.environment["TIDEMARK_WEBHOOKS_FIRST_RETRY"] = "20ms";
  how.environment["TIDEMARK_WEBHOOKS_LONGEST_RETRY"] = "100ms";
  return how;
}

http_reply put(const scene& stage, json body, const std::string& path = hook) {
  return stage.client.send({.method = "PUT",
                            .path = path,
                            .body = dump_json(body),
                            .headers = {{"Content-Type", "application/json"}}});
}

json hook_at(const webhook_receiver& receiver) {
  return json::object({{"url", receiver.url()}, {"secret", secret}});
}

std::string state_of(const scene& stage) {
  return string_or(object_at(stage.client.get(hook).parsed(), "webhook"), "state");
}

std::int64_t lag_of_hook(const scene& stage) {
  return int_or(stage.client.get(hook).parsed(), "lag", -1);
}

/// Offsets 1, 2, 3 … each once.
bool dense(const webhook_receiver::events& events) {
  std::uint64_t expected_offset = 1;
  return std::ranges::all_of(events,
                             [&](const auto& e) { return e.offset() == expected_offset++; });
}

/// Offsets that never skip one; those that came again come right after an end.
bool at_least_once(const webhook_receiver::events& events) {
  std::uint64_t highest = 0;
  for (const auto& e : events) {
    if (e.offset() > highest + 1) {
      return false;
    }
    highest = std::max(highest, e.offset());
  }
  return true;
}

} // namespace

SCENARIO("a webhook gets every event in order, signed, and its place is recorded") {
  webhook_receiver receiver;
  scene stage{quick()};
  stage.run("demo", "WORDS 10");
  REQUIRE(put(stage, hook_at(receiver)).status == 201);
  stage.run("demo", "hello");
  const auto head = stage.events("demo").size();
  REQUIRE(receiver.wait([&](const auto& so_far) { return so_far.size() >= head; }));
  const auto got = receiver.all();
  CHECK(dense(got));
  for (const auto& e : got) {
    CHECK(e.signed_with(secret));
    CHECK_FALSE(e.signed_with("another one"));
  }
  const auto& last = got.back();
  CHECK(last.headers.at("tidemark-event") == "1-" + std::to_string(last.offset()));
  CHECK(last.headers.at("tidemark-webhook") == "hook");
  CHECK(last.headers.at("tidemark-workspace") == "demo");
  CHECK(last.headers.at("content-type") == "application/json");
  CHECK(poll_until([&] { return lag_of_hook(stage) == 0; }));
  CHECK(stage.client.get("/metrics")
          .body.find("tidemark_webhook_deliveries_total{outcome=\"delivered\"} "
                     + std::to_string(got.size()))
        != std::string::npos);
}

SCENARIO("an event that was refused is tried again before any other") {
  webhook_receiver receiver;
  scene stage{quick()};
  stage.run("demo", "hello");
  const auto head = stage.events("demo").size();
  receiver.answer_with(500);
  put(stage, hook_at(receiver));
  REQUIRE(receiver.wait([](const auto& so_far) { return so_far.size() >= 3; }));
  CHECK(std::ranges::all_of(receiver.all(), [](const auto& e) { return e.offset() == 1; }));
  receiver.answer_with(200);
  REQUIRE(poll_until([&] { return receiver.taken().size() >= head; }));
  CHECK(dense(receiver.taken()));
}

SCENARIO("a webhook whose receiver stays away is dead, says so, and is revived by redelivery") {
  webhook_receiver receiver;
  scene stage{quick()};
  stage.run("demo", "hello");
  receiver.answer_with(503);
  auto body = hook_at(receiver);
  body["max_attempts"] = 3;
  put(stage, body);
  const auto dead = stage.await_event("demo", "webhook.dead");
  CHECK(string_or(data_of(dead), "webhook") == "hook");
  CHECK(int_or(data_of(dead), "offset", 0) == 1);
  CHECK(int_or(data_of(dead), "attempts", 0) == 3);
  CHECK(string_or(data_of(dead), "error") == "status 503");
  CHECK(receiver.all().size() == 3);
  CHECK(state_of(stage) == "dead");
  receiver.answer_with(200);
  stage.kill_and_restart(); // it stays dead
  CHECK(state_of(stage) == "dead");
  stage.run("demo", "hello");
  CHECK(receiver.all().size() == 3);
  const auto head = stage.events("demo").size();
  REQUIRE(stage.client.post(hook + "/redeliver").status == 200);
  CHECK(state_of(stage) == "active");
  REQUIRE(poll_until([&] { return receiver.taken().size() >= head; }));
  CHECK(dense(receiver.taken()));
  // Back to an earlier place.
  stage.client.post(hook + "/redeliver", json::object({{"from", "1-" + std::to_string(head - 2)}}));
  REQUIRE(poll_until([&] { return receiver.taken().size() >= head + 2; }));
  CHECK(receiver.taken().at(head).offset() == head - 1);
  CHECK(count_of(stage.events("demo"), "webhook.dead") == 1);
}

SCENARIO("410 ends a webhook at once, and a redirect is not followed") {
  webhook_receiver receiver;
  webhook_receiver elsewhere;
  scene stage{quick()};
  stage.run("demo", "hello");
  receiver.answer_with(302, elsewhere.url());
  put(stage, hook_at(receiver));
  REQUIRE(receiver.wait([](const auto& so_far) { return so_far.size() >= 2; }));
  receiver.answer_with(410);
  const auto dead = stage.await_event("demo", "webhook.dead");
  CHECK(string_or(data_of(dead), "error") == "status 410");
  CHECK(elsewhere.all().empty());
}

SCENARIO("what was delivered before SIGKILL may come again, and nothing is left out") {
  webhook_receiver receiver;
  scene stage{quick()};
  put(stage, hook_at(receiver)); // no workspace yet
  stage.run("demo", "WORDS 5");
  put(stage, hook_at(receiver));
  for (int i = 0; i < 3; ++i) {
    const auto before = receiver.all().size();
    stage.submit("demo", "WORDS 30");
    REQUIRE(receiver.wait([&](const auto& so_far) { return so_far.size() >= before + 3; }));
    stage.kill_and_restart();
  }
  stage.run("demo", "the end");
  REQUIRE(poll_until([&] { return lag_of_hook(stage) == 0; }));
  const auto got = receiver.all();
  CHECK(at_least_once(got));
  const auto head = stage.events("demo").size();
  CHECK(std::ranges::any_of(got, [&](const auto& e) { return e.offset() == head; }));
}

SCENARIO("a webhook gets only the types it names, and its lag still goes down") {
  webhook_receiver receiver;
  scene stage{quick()};
  stage.run("demo", "hello");
  auto body = hook_at(receiver);
  body["types"] = json::array({"turn.completed"});
  put(stage, body);
  stage.run("demo", "hello");
  REQUIRE(receiver.wait([](const auto& so_far) { return so_far.size() >= 2; }));
  CHECK(poll_until([&] { return lag_of_hook(stage) == 0; }));
  CHECK(receiver.all().size() == 2);
  for (const auto& e : receiver.all()) {
    CHECK(e.type() == "turn.completed");
  }
}

SCENARIO("addresses that are not public are refused unless the operator allows them") {
  webhook_receiver receiver;
  auto how = quick();
  how.environment.erase("TIDEMARK_WEBHOOKS_ALLOW_PRIVATE");
  scene stage{how};
  stage.run("demo", "hello");
  auto body = hook_at(receiver);
  body["max_attempts"] = 2;
  put(stage, body);
  const auto dead = stage.await_event("demo", "webhook.dead");
  CHECK(string_or(data_of(dead), "error").find("not public") != std::string::npos);
  CHECK(receiver.all().empty());
}

SCENARIO("a secret is shown once, and stands in no answer, event, metric or log") {
  webhook_receiver receiver;
  scene stage{quick()};
  stage.run("demo", "hello");
  auto body = json::object({{"url", receiver.url()}});
  const auto made = put(stage, body);
  REQUIRE(made.status == 201);
  const auto generated = string_or(made.parsed(), "secret");
  CHECK(generated.size() > 32);
  REQUIRE(receiver.wait([](const auto& so_far) { return !so_far.empty(); }));
  CHECK(receiver.all().front().signed_with(generated));
  const auto again = put(stage, body);
  CHECK(again.status == 200);
  CHECK(again.body.find(generated) == std::string::npos);
  CHECK(stage.client.get(hook).body.find(generated) == std::string::npos);
  CHECK(string_or(object_at(stage.client.get(hook).parsed(), "webhook"), "secret")
          .starts_with("sha256:"));
  for (const auto* path : {"/metrics", "/api/v1/events?raw=true"}) {
    CHECK(stage.client.get(path).body.find(generated) == std::string::npos);
  }
  CHECK(stage.client.get(of("demo", "consumers")).body.find(generated) == std::string::npos);
  CHECK(stage.server.output().find(generated) == std::string::npos);
  CHECK(stage.client.remove(hook).status == 204);
  CHECK(stage.client.get(hook).status == 404);
}

SCENARIO("what is no webhook is refused") {
  scene stage{quick()};
  stage.run("demo", "hello");
  for (const auto* url :
       {"", "ftp://example.com/", "https://", "example.com", "https://user:pass@example.com/",
        "https://example.com/a b", "file:///etc/passwd", "http://h:99999/", "http://a..b/"}) {
    INFO(url);
    const auto refused = put(stage, json::object({{"url", url}}));
    CHECK(refused.status == 400);
    CHECK(string_or(refused.parsed(), "detail").starts_with("field \"url\": "));
  }
  auto body = json::object({{"url", "https://example.com/"}, {"secret", "short"}});
  CHECK(put(stage, body).status == 400);
  body = json::object({{"url", "https://example.com/"}, {"max_attempts", 0}});
  CHECK(put(stage, body).status == 400);
  for (const auto* type : {"", "\r\n", "turn.completed\n", "turn completed", "t\xc3\xa9"}) {
    CAPTURE(type);
    body = json::object({{"url", "https://example.com/"}, {"types", json::array({type})}});
    CHECK(put(stage, body).status == 400);
  }
  for (const auto* place : {"18446744073709551615", "18446744073709551616", "-1", "1.5",
                            "\"1-18446744073709551615\"", "\"9223372036854775808\""}) {
    CAPTURE(place);
    const auto from = std::string{R"({"url":"https://example.com/","from":)"} + place + "}";
    CHECK(put(stage, parse_json(from).value()).status == 400);
  }
  body = json::object({{"url", "https://example.com/"}, {"from", 9'223'372'036'854'775'807}});
  CHECK(put(stage, body).status == 416); // beyond the last event
  CHECK(
    put(stage, json::object({{"url", "https://example.com/"}}), of("nobody", "webhooks/x")).status
    == 404);
  CHECK(stage.client.post(hook + "/redeliver").status == 404);
}

SCENARIO("a consumer that fetches is no webhook for any call, and a webhook is ended as one only") {
  scene stage{quick()};
  stage.run("demo", "hello");
  const auto send = [&](const char* method, const std::string& path, const char* body) {
    return stage.client.send({.method = method,
                              .path = of("demo", path),
                              .body = body,
                              .headers = {{"Content-Type", "application/json"}}});
  };
  REQUIRE(send("PUT", "consumers/audit", "{}").status == 201);
  for (const auto* call : {"GET", "DELETE", "POST"}) {
    INFO(call);
    const std::string path = "webhooks/audit";
    const auto refused = send(call, call == std::string{"POST"} ? path + "/redeliver" : path, "");
    CHECK(refused.status == 404);
    CHECK(string_or(refused.parsed(), "detail")
          == "\"audit\" is a consumer that fetches its events");
  }
  REQUIRE(put(stage, json::object({{"url", "https://example.com/"}})).status == 201);
  const auto kept = send("DELETE", "consumers/hook", "");
  CHECK(kept.status == 409);
  CHECK_THAT(string_or(kept.parsed(), "detail"), Catch::Contains("DELETE …/webhooks/{name}"));
  CHECK(send("DELETE", "webhooks/hook", "").status == 204);
  CHECK(send("GET", "consumers/audit", "").status == 200);
}
