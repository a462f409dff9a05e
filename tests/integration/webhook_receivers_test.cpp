// Receivers of webhooks that fail, hang, lie or flood, at the real server.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/raw_receiver.hpp"
#include "tests/support/webhook_receiver.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <thread>

using namespace tidemark;
using namespace tidemark::test;
using namespace std::chrono_literals;

namespace {

const std::string receiver_secret = "a secret of the test";

server_options with_receivers(const std::string& timeout) {
  server_options how;
  how.environment["TIDEMARK_WEBHOOKS_ALLOW_PRIVATE"] = "true";
  how.environment["TIDEMARK_WEBHOOKS_FIRST_RETRY"] = "20ms";
  how.environment["TIDEMARK_WEBHOOKS_LONGEST_RETRY"] = "50ms";
  how.environment["TIDEMARK_WEBHOOKS_TIMEOUT"] = timeout;
  return how;
}

http_reply put_hook(const scene& stage, const std::string& name, const std::string& url,
                    int max_attempts = 20) {
  auto body = json::object({{"url", url}, {"secret", receiver_secret}});
  body["max_attempts"] = max_attempts;
  return stage.client.send({.method = "PUT",
                            .path = of("demo", "webhooks/" + name),
                            .body = dump_json(body),
                            .headers = {{"Content-Type", "application/json"}}});
}

json hook_shown(const scene& stage, const std::string& name) {
  return object_at(stage.client.get(of("demo", "webhooks/" + name)).parsed(), "webhook");
}

/// Why the webhook at `url` was given up after two attempts.
std::string death_of(scene& stage, const std::string& url) {
  REQUIRE(put_hook(stage, "hook", url, 2).status == 201);
  return string_or(data_of(stage.await_event("demo", "webhook.dead")), "error");
}

} // namespace

SCENARIO("more receivers than places hang, and a webhook that answers gets its events") {
  auto how = with_receivers("10m"); // longer than any test
  how.environment["TIDEMARK_WEBHOOKS_MAX_TRANSFERS"] = "2";
  const raw_receiver hanging{[](raw_receiver& from, int c) { from.wait_for_leaving(c); }};
  webhook_receiver healthy;
  scene stage{how};
  stage.run("demo", "hello");
  constexpr std::size_t count = 6;
  for (std::size_t i = 0; i < count; ++i)
    REQUIRE(put_hook(stage, "hanging" + std::to_string(i), hanging.url()).status == 201);
  REQUIRE(put_hook(stage, "healthy", healthy.url()).status == 201);
  const auto before = stage.events("demo").size();
  REQUIRE(healthy.wait([&](const auto& so_far) { return so_far.size() >= before; }));
  stage.run("demo", "hello");
  const auto head = stage.events("demo").size();
  CHECK(healthy.wait([&](const auto& so_far) { return so_far.size() >= head; }));
  CHECK(poll_until([&] { return hanging.requests() == count; }, 20s));
}

SCENARIO("receivers that failed before leave their places to one that answers") {
  auto how = with_receivers("500ms");
  how.environment["TIDEMARK_WEBHOOKS_MAX_TRANSFERS"] = "1";
  const raw_receiver hanging{[](raw_receiver& from, int c) { from.wait_for_leaving(c); }};
  webhook_receiver healthy;
  scene stage{how};
  stage.run("demo", "hello");
  constexpr int count = 8; // more than there are places of both kinds
  const auto name = [](int i) { return "hanging" + std::to_string(i); };
  for (int i = 0; i < count; ++i)
    REQUIRE(put_hook(stage, name(i), hanging.url(), 1000).status == 201);
  for (int i = 0; i < count; ++i)
    REQUIRE(poll_until([&] { return int_or(hook_shown(stage, name(i)), "attempts", 0) > 0; }, 30s));
  REQUIRE(put_hook(stage, "healthy", healthy.url()).status == 201);
  const auto head = stage.events("demo").size();
  CHECK(healthy.wait([&](const auto& so_far) { return so_far.size() >= head; }));
}

SCENARIO("a webhook that fails says how, and when it is tried again") {
  auto how = with_receivers("10s");
  how.environment["TIDEMARK_WEBHOOKS_FIRST_RETRY"] = "1h";
  how.environment["TIDEMARK_WEBHOOKS_LONGEST_RETRY"] = "1h";
  webhook_receiver receiver;
  receiver.answer_with(500);
  scene stage{how};
  stage.run("demo", "hello");
  put_hook(stage, "hook", receiver.url());
  REQUIRE(poll_until([&] { return int_or(hook_shown(stage, "hook"), "attempts", 0) == 1; }));
  const auto shown = hook_shown(stage, "hook");
  CHECK(string_or(shown, "state") == "active");
  CHECK(string_or(shown, "error") == "status 500");
  CHECK(string_or(shown, "failed") < string_or(shown, "next_attempt"));
  const auto listed = run_command(stage, "consumers demo");
  CHECK(listed.code == 0);
  CHECK(listed.out.find("status 500, 1 of 20 attempts, the last at") != std::string::npos);
  receiver.answer_with(200);
  stage.client.post(of("demo", "webhooks/hook/redeliver"));
  CHECK(poll_until([&] { return hook_shown(stage, "hook")["error"].is_null(); }));
  CHECK(hook_shown(stage, "hook")["next_attempt"].is_null());
}

SCENARIO("a receiver that says 200 and never ends its answer has the event") {
  const raw_receiver endless{[](raw_receiver& from, int c) {
    from.send(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    const auto chunk = "4000\r\n" + std::string(0x4000, 'x') + "\r\n";
    while (from.send(c, chunk)) {}
  }};
  scene stage{with_receivers("10m")};
  stage.run("demo", "hello");
  const auto head = stage.events("demo").size();
  put_hook(stage, "hook", endless.url());
  CHECK(poll_until([&] {
    return int_or(stage.client.get(of("demo", "webhooks/hook")).parsed(), "lag", -1) == 0;
  }));
  CHECK(endless.requests() == head);
}

SCENARIO("receivers that flood the head of their answer are cut off") {
  const bool interim = GENERATE(true, false);
  const raw_receiver flooding{[interim](raw_receiver& from, int c) {
    from.send(c, interim ? "" : "HTTP/1.1 200 OK\r\n");
    const std::string more =
      interim ? "HTTP/1.1 103 Early\r\nA: b\r\n\r\n" : "A: " + std::string(1000, 'x') + "\r\n";
    while (from.send(c, more)) {}
  }};
  scene stage{with_receivers("10m")};
  stage.run("demo", "hello");
  CHECK_THAT(death_of(stage, flooding.url()), Catch::Contains("64 KiB"));
}

SCENARIO("receivers that do not answer, or not in HTTP, fail with the reason") {
  struct row {
    const char* name;
    raw_receiver::play answer;
    const char* says;
  };
  const auto each = GENERATE(
    row{"leaves", [](raw_receiver&, int) {}, "returned nothing"},
    row{"garbage", [](raw_receiver& from, int c) { from.send(c, "hello\r\n\r\n"); },
        "nsupported protocol"},
    row{"hangs", [](raw_receiver& from, int c) { from.wait_for_leaving(c); }, "imeout"},
    row{"drips",
        [](raw_receiver& from, int c) {
          from.send(c, "HTTP/1.1 200 OK\r\nX: ");
          while (from.send(c, "x"))
            std::this_thread::sleep_for(20ms); // the receiver's pace, not a wait of the test
        },
        "imeout"},
    row{"short",
        [](raw_receiver& from, int c) {
          from.send(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx");
        },
        "closed with outstanding"});
  INFO(each.name);
  const raw_receiver receiver{each.answer};
  scene stage{with_receivers("500ms")};
  stage.run("demo", "hello");
  const auto why = death_of(stage, receiver.url());
  INFO(why);
  CHECK_THAT(why, Catch::Contains(each.says) || Catch::Contains("transfer closed")
                    || Catch::Contains("partial file", Catch::CaseSensitive::No));
}

SCENARIO("a receiver without TLS gets nothing of what is for https") {
  const raw_receiver plain{[](raw_receiver& from, int c) {
    from.send(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  }};
  scene stage{with_receivers("5s")};
  stage.run("demo", "hello");
  const auto url = "https://127.0.0.1:" + std::to_string(plain.port()) + "/hook";
  CHECK_THAT(death_of(stage, url), Catch::Contains("SSL"));
}

SCENARIO("no redirect of any kind is followed") {
  const auto status = GENERATE(301, 303, 307, 308);
  webhook_receiver receiver;
  webhook_receiver elsewhere;
  receiver.answer_with(status, elsewhere.url());
  scene stage{with_receivers("5s")};
  stage.run("demo", "hello");
  CHECK(death_of(stage, receiver.url()) == "status " + std::to_string(status));
  CHECK(elsewhere.all().empty());
}

SCENARIO("a name that leads to a private address is refused when the connection is opened") {
  webhook_receiver receiver;
  auto how = with_receivers("5s");
  how.environment.erase("TIDEMARK_WEBHOOKS_ALLOW_PRIVATE");
  scene stage{how};
  stage.run("demo", "hello");
  auto url = receiver.url();
  url.replace(url.find("127.0.0.1"), 9, "localhost");
  CHECK_THAT(death_of(stage, url), Catch::Contains("not public"));
  CHECK(receiver.all().empty());
}
