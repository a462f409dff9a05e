// What a delivery consists of, and when it is tried again.
#include "actors/webhook_delivery.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace std::chrono_literals;

SCENARIO("a signature is the HMAC-SHA-256 of time and body") {
  // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 'it is a secret'
  CHECK(webhook_signature("it is a secret", 1'700'000'000, R"({"a":1})")
        == "t=1700000000,v1=e13ca661150ed628f4ae657a91356a99ce1d89519ed99c20a90f567c6f061275");
  CHECK(webhook_signature("it is a secret", 1'700'000'001, R"({"a":1})")
        != webhook_signature("it is a secret", 1'700'000'000, R"({"a":1})"));
  CHECK(webhook_signature("another secret", 1'700'000'000, R"({"a":1})")
        != webhook_signature("it is a secret", 1'700'000'000, R"({"a":1})"));
}

SCENARIO("retries come later and later up to a limit, and never sooner than half of it") {
  CHECK(retry_delay(1, 1s, 5min, 0) == 1s);
  CHECK(retry_delay(2, 1s, 5min, 0) == 2s);
  CHECK(retry_delay(9, 1s, 5min, 0) == 256s);
  CHECK(retry_delay(10, 1s, 5min, 0) == 300s);
  CHECK(retry_delay(1'000'000, 1s, 5min, 0) == 300s);
  for (const std::uint32_t random : {0u, 1u, 499u, 500u, 501u, 0xffff'ffffu}) {
    CHECK(retry_delay(1, 1s, 5min, random) >= 500ms);
    CHECK(retry_delay(1, 1s, 5min, random) <= 1s);
  }
  CHECK(retry_delay(3, 1min, 1s, 0) == 1s);
}

SCENARIO("2xx is delivered, 410 wants no more, all else is tried again") {
  CHECK(outcome_of({200, {}}) == delivery_outcome::delivered);
  CHECK(outcome_of({204, {}}) == delivery_outcome::delivered);
  CHECK(outcome_of({410, {}}) == delivery_outcome::refused);
  for (const int status : {0, 100, 301, 400, 404, 429, 500, 503})
    CHECK(outcome_of({status, {}}) == delivery_outcome::failed);
  CHECK(description_of({503, {}}) == "status 503");
  CHECK(description_of({0, "Timeout was reached"}) == "Timeout was reached");
}

SCENARIO("a webhook takes the types and families that it names, or all") {
  CHECK(takes_type({}, "turn.queued"));
  CHECK(takes_type({"turn.queued"}, "turn.queued"));
  CHECK(takes_type({"fault", "item.*"}, "item.delta"));
  CHECK_FALSE(takes_type({"turn.queued"}, "turn.started"));
  CHECK_FALSE(takes_type({"item.*"}, "items"));
}
