// The server behind a reverse proxy that buffers and has little patience.
#include "tests/integration/contract_scene.hpp"
#include "tests/support/nginx_proxy.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;

namespace {

std::size_t heartbeats(const sse_reader& reader) {
  std::size_t count = 0;
  const auto raw = reader.raw();
  for (auto at = raw.find(":hb\n"); at != std::string::npos; at = raw.find(":hb\n", at + 1)) {
    ++count;
  }
  return count;
}

} // namespace

SCENARIO(
  "B60: behind a proxy that buffers, streams come at once, outlive its patience and end whole") {
  if (!nginx_proxy::installed()) {
    WARN("skipped: there is no nginx; scripts/setup --tests gets one");
    return;
  }
  contract_scene stage({.environment = {{"TIDEMARK_HTTP_HEARTBEAT", "200ms"}}});
  stage.run("demo", "ECHO before");
  const nginx_proxy proxy(stage.server.url(), "1s");
  const http_client behind(proxy.url(), stage.server.token());
  const sse_reader idle(behind, of("demo", "events"));
  REQUIRE(idle.wait_for("turn.completed"));
  CHECK(dense_from(idle.events(), 1));
  const sse_reader task(behind, message_stream_path,
                        message_stream("other", "PAUSE 2500\nECHO in the end"));
  constexpr std::size_t of_two_timeouts = 10;
  CHECK(poll_until([&] { return heartbeats(idle) >= of_two_timeouts; }));
  CHECK_FALSE(idle.wait_for_end(std::chrono::milliseconds(0)));

  REQUIRE(task.wait_for_end());
  CHECK(task.ended_properly());
  CHECK(joined_chunks(task.all()) == "in the end");
  CHECK(poll_until(
    [&] { return count_of(stage.events("other", "types=result.*"), "result.delivered") == 1; }));
  CHECK(stage.peek("other").at("count") == 0);

  const auto history = behind.get(of("demo", "events"));
  CHECK(history.status == 200);
  CHECK(history.parsed() == stage.client.get(of("demo", "events")).parsed());

  const sse_reader cut_short(behind, message_stream_path, message_stream("other", "SLOW 60000"));
  REQUIRE(cut_short.wait_for("chunk"));
  CHECK(stage.server.terminate() == 0);
  for (const auto* each : {&idle, &cut_short}) {
    CHECK(each->wait_for_end());
    CHECK(each->status() == 200);
    CHECK(each->ended_properly());
  }
}

SCENARIO("B60: the proxy of these tests does cut a stream that is silent for too long") {
  if (!nginx_proxy::installed()) {
    WARN("skipped: there is no nginx; scripts/setup --tests gets one");
    return;
  }
  scene stage({.environment = {{"TIDEMARK_HTTP_HEARTBEAT", "60s"}}});
  stage.run("demo", "ECHO before");
  const nginx_proxy proxy(stage.server.url(), "1s");
  const sse_reader idle(http_client(proxy.url(), stage.server.token()), of("demo", "events"));
  CHECK(idle.wait_for_end());
  CHECK_FALSE(idle.ended_properly());
}
