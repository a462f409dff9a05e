#include "server_fixture.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/text.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>

using namespace tidemark;
using namespace tidemark::test;
using namespace tidemark::testing;
using namespace std::chrono_literals;

namespace {

const std::string path = "/api/v1/workspaces/w/events";
const std::string sse = "Accept: text/event-stream\r\n";
const std::string lines = "Accept: application/x-ndjson\r\n";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++n;
  return n;
}

std::string open_request(const std::string& target, const std::string& headers) {
  return "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n";
}

/// The offsets of the event frames of a stream, in the order they came.
std::vector<std::uint64_t> offsets(const std::string& body) {
  std::vector<std::uint64_t> out;
  for (auto at = body.find("\"offset\":"); at != std::string::npos;
       at = body.find("\"offset\":", at + 1))
    out.push_back(std::strtoull(body.c_str() + at + 9, nullptr, 10));
  return out;
}

std::vector<std::uint64_t> range(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> out;
  for (auto n = first; n <= last; ++n)
    out.push_back(n);
  return out;
}

long resident_kb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Events that are in the log only, so that a reader has to go there.
void append_cold(server_fixture& server, const std::string& workspace, std::size_t count,
                 std::size_t data_bytes = 0, const std::string& turn = {}) {
  const auto stream = server.log.acquire(workspace);
  REQUIRE(stream);
  append_request request;
  request.stream = stream->id;
  request.incarnation = stream->incarnation;
  request.expected = stream->head;
  for (std::size_t i = 0; i < count; ++i) {
    new_event e;
    e.type = "agent.notice";
    e.time = timestamp{1'000'000'000};
    e.turn = turn;
    e.data = data_bytes == 0 ? "{}" : R"({"text":")" + std::string(data_bytes, 'x') + R"("})";
    request.events.push_back(std::move(e));
  }
  const auto requests = std::vector<append_request>{request};
  REQUIRE(server.log.commit(requests).front());
}

} // namespace

SCENARIO("a page holds the events after the cursor and says where to go on") {
  server_fixture server;
  server.append("w", 10);
  const auto all = parse_json(body_of(server.get(path)));
  REQUIRE(all);
  CHECK(array_at(*all, "events").size() == 10);
  CHECK(int_or(*all, "head", 0) == 10);
  CHECK(int_or(*all, "first", 0) == 1);
  CHECK(int_or(*all, "epoch", 0) == 1);
  CHECK(string_or(*all, "next") == "1-10");

  CHECK(offsets(body_of(server.get(path + "?after=7"))) == range(8, 10));
  CHECK(offsets(body_of(server.get(path + "?after=1-7"))) == range(8, 10));
  CHECK(offsets(body_of(server.get(path + "?after=10"))).empty());
  const auto two = parse_json(body_of(server.get(path + "?limit=2&after=3")));
  REQUIRE(two);
  CHECK(string_or(*two, "next") == "1-5");

  CHECK(count(body_of(server.get(path + "?types=item.completed")), "item.completed") == 5);
  CHECK(offsets(body_of(server.get(path + "?turn=turn-b")))
        == std::vector<std::uint64_t>{2, 4, 6, 8, 10});
  CHECK(has(body_of(server.get(path + "?raw=true")), "\"raw\":\"raw line\""));
  CHECK_FALSE(has(body_of(server.get(path)), "\"raw\""));
}

SCENARIO("a cursor that cannot be honoured is told, each kind in its own way") {
  server_fixture server;
  server.append("w", 5);
  CHECK(status_of(server.get(path + "?after=6")) == 416);
  CHECK(status_of(server.get(path + "?after=2-3")) == 409);
  const auto gap = server.get(path + "?after=9-1", lines);
  CHECK(status_of(gap) == 409);
  CHECK(has(body_of(gap), R"("reason":"epoch")"));
  for (const auto* bad : {"-1", "abc", "1e3", "18446744073709551616", "1-", "1-2-3", "0x1"}) {
    INFO(bad);
    CHECK(status_of(server.get(path + "?after=" + bad)) == 400);
    CHECK(status_of(server.get(path, sse + "Last-Event-ID: " + bad + "\r\n")) == 400);
  }
  CHECK(status_of(server.get("/api/v1/workspaces/none/events")) == 404);
  CHECK(status_of(server.get("/api/v1/workspaces/none/events", sse)) == 404);
  CHECK(status_of(server.get(path + "?after=9223372036854775807")) == 416);
  CHECK(status_of(server.get(path + "?after=18446744073709551615")) == 400);
  const auto proof = std::string{"/api/v1/workspaces/w/verify?to="};
  CHECK(has(body_of(server.get(proof + "18446744073709551615")), R"("hash":null)"));
  CHECK(status_of(server.get(proof + "18446744073709551616")) == 400);
  CHECK(has(body_of(server.get(path + "?limit=18446744073709551615")), R"("offset":5)"));
  CHECK(status_of(server.get(path + "?limit=0")) == 400);
  CHECK(status_of(server.get(path + "?wait=soon")) == 400);
}

SCENARIO("a stream says hello, replays, follows, and resumes exactly where its reader was") {
  server_fixture server;
  server.append("w", 3);
  raw_client client{server.port};
  client.send(open_request(path, sse));
  auto got = client.read_until("id: 1-3");
  CHECK(status_of(got) == 200);
  CHECK(has(got, "Content-Type: text/event-stream"));
  CHECK(has(got, "X-Accel-Buffering: no"));
  CHECK(has(got, "Cache-Control: no-cache, no-transform"));
  CHECK(has(got, "Tidemark-Resumed-After: 1-0"));
  CHECK(got.find("event: hello") < got.find("id: 1-1\n"));
  got += client.read_until("\n\n", 200ms);
  server.append("w", 2);
  got += client.read_until("id: 1-5");
  CHECK(offsets(got + client.read_until("\n\n", 200ms)) == range(1, 5));

  GIVEN("the header and the query disagree") {
    raw_client again{server.port};
    again.send(open_request(path + "?after=1", sse + "Last-Event-ID: 1-4\r\n"));
    CHECK(offsets(again.read_until("\"offset\":5")) == range(5, 5));
  }
  GIVEN("the other spellings") {
    for (const auto* name : {"last_event_id", "lastEventId", "after"}) {
      raw_client again{server.port};
      again.send(open_request(path + "?" + name + "=1-3", sse));
      CHECK(offsets(again.read_until("\"offset\":5")) == range(4, 5));
    }
  }
  GIVEN("a cursor beyond the head") {
    raw_client again{server.port};
    again.send(open_request(path, sse + "Last-Event-ID: 1-1000\r\n"));
    const auto told = again.read_until("event: gap\ndata: {");
    CHECK(has(told, "event: gap"));
    server.append("w", 1);
    CHECK(offsets(again.read_until("\"offset\":6")) == range(6, 6));
  }
  GIVEN("a cursor of another epoch") {
    raw_client again{server.port};
    again.send(open_request(path, sse + "Last-Event-ID: 7-2\r\n"));
    const auto told = again.read_until("\"offset\":5");
    CHECK(has(told, R"("reason":"epoch")"));
    CHECK(offsets(told) == range(1, 5));
  }
}

SCENARIO(
  "the first event of a workspace arrives once, and a re-created one has an epoch of its own") {
  server_fixture server;
  server.append("w", 1);
  CHECK(offsets(body_of(server.get(path + "?after=0"))) == range(1, 1));
  server.append("w", 1, true);
  const auto ended = server.get(path, sse);
  CHECK(offsets(body_of(ended)) == range(1, 2));
  CHECK(has(ended, "event: end"));
  CHECK(ends_properly(ended));
  CHECK(status_of(server.get(path, sse + "Last-Event-ID: 1-2\r\n")) == 204);

  server.append("w", 1);
  raw_client again{server.port};
  again.send(open_request(path, sse + "Last-Event-ID: 1-2\r\n"));
  const auto told = again.read_until("\"offset\":1");
  CHECK(has(told, "event: gap"));
  CHECK(has(told, "id: 2-1"));
}

SCENARIO("a long history is read whole, and from any place, in order") {
  server_fixture server;
  for (int i = 0; i < 25; ++i)
    server.append("w", 1000);
  CHECK(offsets(body_of(server.get(path, lines))) == range(1, 25'000));
  CHECK(offsets(body_of(server.get(path + "?after=12345", lines))) == range(12'346, 25'000));
  CHECK(offsets(body_of(server.get(path + "?after=24990", lines))) == range(24'991, 25'000));
  CHECK(offsets(body_of(server.get(path + "?after=100&limit=3", lines))) == range(101, 103));
  const auto answer = server.get(path + "?after=24999", lines);
  CHECK(ends_properly(answer));
}

SCENARIO("a history of many pieces is read whole, filtered and limited, from the log alone") {
  server_fixture server;
  for (int i = 0; i < 10; ++i) {
    append_cold(server, "w", 1000, 100, "a");
    append_cold(server, "w", 1000, 100, "b");
  }
  std::vector<std::uint64_t> of_b;
  for (std::uint64_t start = 1001; start < 20'000; start += 2000)
    for (auto n = start; n < start + 1000; ++n)
      of_b.push_back(n);
  CHECK(offsets(body_of(server.get(path, lines))) == range(1, 20'000));
  CHECK(server.series("tidemark_events_sent_total{source=\"log\"}") == 20'000);
  CHECK(offsets(body_of(server.get(path + "?turn=b", lines))) == of_b);
  CHECK(offsets(body_of(server.get(path + "?turn=none", lines))).empty());
  for (const auto& form : {lines, sse}) {
    const auto answer = server.get(path + "?limit=7001&after=1-99", form);
    CHECK(offsets(body_of(answer)) == range(100, 7100));
    CHECK(ends_properly(answer));
  }
  AND_THEN("damage far within it cuts it there") {
    server.seen.damaged_at = 15'000;
    const auto frames = server.get(path, sse);
    CHECK(offsets(body_of(frames)) == range(1, 14'999));
    CHECK(has(frames, "event: error\ndata: {"));
    CHECK_FALSE(ends_properly(frames));
  }
}

SCENARIO("a reader may leave in the middle of a history") {
  server_fixture server;
  for (int i = 0; i < 10; ++i)
    append_cold(server, "w", 1000, 1000);
  for (const auto abruptly : {false, true}) {
    raw_client client{server.port};
    client.small_receive_buffer();
    client.send(open_request(path, sse));
    CHECK(has(client.read_until("id: 1-100\n"), "id: 1-100\n"));
    client.leave(abruptly);
    CHECK(server_fixture::eventually([&] { return server.events.readers() == 0; }));
  }
}

SCENARIO("a reader that stalls within a history holds a piece or two of it") {
  server_fixture server;
  for (int i = 0; i < 40; ++i)
    append_cold(server, "w", 10, 100'000);
  const auto before = resident_kb();
  std::vector<std::unique_ptr<raw_client>> stalled;
  for (int i = 0; i < 20; ++i) {
    auto& client = *stalled.emplace_back(std::make_unique<raw_client>(server.port));
    client.small_receive_buffer();
    client.send(open_request(path, sse));
    CHECK(has(client.read_until("id: 1-1\n"), "id: 1-1\n"));
  }
  // Twenty times the 40 MB of this history stand against that.
  CHECK((test::sanitized || resident_kb() - before < 80'000));
}

SCENARIO("a long poll answers when an event comes, and empty when none does") {
  server_fixture server;
  server.append("w", 1);
  raw_client client{server.port};
  client.send(open_request(path + "?after=1&wait=20s", ""));
  CHECK(client.read_until("}", 100ms).empty());
  server.append("w", 1);
  CHECK(offsets(client.read_until("\"ended\"")) == range(2, 2));
  const auto none = server.get(path + "?after=2&wait=50ms");
  CHECK(status_of(none) == 200);
  CHECK(has(body_of(none), R"("next":"1-2")"));
}

SCENARIO("a silent stream beats, and a filtered one too") {
  http_options options;
  options.heartbeat = 50ms;
  server_fixture server{options};
  server.append("w", 2);
  raw_client client{server.port};
  client.send(open_request(path + "?types=none", sse));
  const auto got = client.read_until(":hb\n");
  CHECK(has(got, ":hb\n"));
  CHECK_FALSE(has(got, ":hb\n\n"));
  CHECK(offsets(got).empty());
}

SCENARIO(
  "a reader that stalls grows nothing, delays nobody, is dropped, and resumes without a gap") {
  http_options options;
  options.write_timeout = 1500ms;
  server_fixture server{options};
  server.append("w", 1);
  raw_client stalled{server.port};
  stalled.small_receive_buffer();
  stalled.send(open_request(path, sse));
  raw_client live{server.port};
  live.send(open_request(path + "?after=1", sse));
  live.read_until("event: hello");
  const auto before = resident_kb();
  for (int i = 0; i < 40; ++i) {
    server.append("w", 10, false, 20'000);
    const auto last = "id: 1-" + std::to_string(1 + 10 * (i + 1)) + "\n";
    REQUIRE(has(live.read_until(last), last));
  }
  // 8 MB went to the log in memory and the hot tail; no queue of the stalled reader came on top.
  CHECK((test::sanitized || resident_kb() - before < 80'000));
  CHECK(
    server_fixture::eventually([&] { return server.series("tidemark_slow_readers_total") == 1; }));
  CHECK(offsets(body_of(server.get(path + "?after=390", lines))) == range(391, 401));
}

SCENARIO("a reader that leaves while nothing happens is noticed") {
  server_fixture server;
  server.append("w", 1);
  for (const auto abruptly : {false, true}) {
    raw_client client{server.port};
    client.send(open_request(path, sse));
    client.read_until("id: 1-1");
    CHECK(server.events.readers() == 1);
    client.leave(abruptly);
    CHECK(server_fixture::eventually([&] { return server.events.readers() == 0; }));
  }
  CHECK(server_fixture::eventually([&] { return server.series("tidemark_readers ") == 0; }));
}

SCENARIO("a reader that closes its own side before the end gets no end that looks complete") {
  server_fixture server;
  server.append("w", 1);
  for (const auto& form : {sse, lines}) {
    raw_client client{server.port};
    client.send(open_request(path + "?follow=true", form));
    const auto begun = client.read_until("\"offset\":1,");
    client.end_output();
    const auto rest = client.read_all();
    CHECK(client.closed_by_server());
    CHECK(has(begun, "\"offset\":1,"));
    CHECK_FALSE(ends_properly(begun + rest));
  }
}

SCENARIO("more readers than allowed are told in a way that their kind understands") {
  http_options options;
  options.max_readers = 1;
  server_fixture server{options};
  server.append("w", 1);
  raw_client first{server.port};
  first.send(open_request(path, sse));
  first.read_until("id: 1-1");
  const auto second = server.get(path, sse);
  CHECK(status_of(second) == 200);
  CHECK(has(second, "retry: "));
  CHECK(ends_properly(second));
  const auto third = server.get(path, lines);
  CHECK(status_of(third) == 503);
  CHECK(has(third, "Retry-After"));
  CHECK(status_of(server.get(path)) == 200);
}

SCENARIO("a long poll counts as a reader, and one whose client has left soon does not") {
  http_options options;
  options.max_readers = 1;
  server_fixture server{options};
  server.append("w", 1);
  raw_client client{server.port};
  client.send(open_request(path + "?after=1&wait=60s", ""));
  CHECK(server_fixture::eventually([&] { return server.series("tidemark_readers ") == 1; }));
  CHECK(status_of(server.get(path + "?after=1&wait=60s")) == 503);
  client.leave(false);
  CHECK(server_fixture::eventually([&] { return server.series("tidemark_readers ") == 0; }));
}

SCENARIO("an event of megabytes reaches a reader in every form, among small ones") {
  server_fixture server;
  server.append("w", 2);
  server.append("w", 1, false, 3 << 20);
  server.append("w", 2, true);
  for (const auto& how : {sse, lines})
    for (const auto* query : {"", "?raw=true"}) {
      INFO(how << query);
      const auto answer = server.get(path + query, how);
      CHECK(offsets(body_of(answer)) == range(1, 5));
      CHECK(has(body_of(answer), std::string(3 << 20, 'x')));
      CHECK(ends_properly(answer));
    }
}

SCENARIO("events of megabytes in a row are read from the log in every form") {
  server_fixture server;
  append_cold(server, "w", 2);
  append_cold(server, "w", 4, 3 << 20);
  append_cold(server, "w", 2);
  for (const auto* query : {"?limit=8", "?limit=8&raw=true"})
    for (const auto& how : {sse, lines}) {
      INFO(how << query);
      const auto answer = server.get(path + query, how);
      CHECK(offsets(body_of(answer)) == range(1, 8));
      CHECK(count(body_of(answer), std::string(3 << 20, 'x')) == 4);
      CHECK(ends_properly(answer));
    }
}

SCENARIO("a reader gets what is logged during the shutdown before its stream ends") {
  server_fixture server;
  server.append("w", 1);
  raw_client frames{server.port};
  frames.send(open_request(path, sse));
  auto got = frames.read_until("id: 1-1");
  raw_client page{server.port};
  page.send(open_request(path + "?after=1&wait=20s", ""));
  REQUIRE(server_fixture::eventually([&] { return server.events.readers() == 2; }));
  server.begin_stop();
  server.append("w", 2);
  got += frames.read_until("id: 1-3");
  CHECK(has(page.read_until("]"), R"("offset":2)"));
  server.stop(5s);
  got += frames.read_all();
  CHECK(offsets(body_of(got)) == range(1, 3));
  CHECK(ends_properly(got));
}

SCENARIO("shutdown ends streams with a proper end of the body, within its limit") {
  server_fixture server;
  server.append("w", 1);
  raw_client client{server.port};
  client.send(open_request(path, sse));
  auto got = client.read_until("id: 1-1");
  const auto before = std::chrono::steady_clock::now();
  server.stop(5s);
  CHECK(std::chrono::steady_clock::now() - before < 3s);
  got += client.read_all();
  CHECK(ends_properly(got));
  CHECK(client.closed_by_server());
}

SCENARIO("a reader that meets damage gets what lies before it and never a proper end") {
  server_fixture server;
  append_cold(server, "w", 10);
  server.seen.damaged_at = 6;
  const auto plain = server.get(path, lines);
  CHECK(status_of(plain) == 200);
  CHECK(offsets(body_of(plain)) == range(1, 5));
  CHECK_FALSE(ends_properly(plain));
  const auto frames = server.get(path, sse);
  CHECK(offsets(body_of(frames)) == range(1, 5));
  CHECK(has(frames, "event: error\ndata: {"));
  CHECK(has(frames, R"("code":"corrupt")"));
  CHECK_FALSE(ends_properly(frames));
  CHECK(status_of(server.get(path)) == 500);
  AND_THEN("the rest can be read from behind the damage") {
    CHECK(offsets(body_of(server.get(path + "?after=6", lines))) == range(7, 10));
  }
}

SCENARIO("verify says whether a workspace's events are unaltered, and where they are not") {
  server_fixture server;
  server.append("w", 10);
  const auto target = "/api/v1/workspaces/w/verify";
  const auto good = parse_json(body_of(server.get(target)));
  REQUIRE(good);
  CHECK(string_or(*good, "workspace") == "w");
  CHECK(int_or(*good, "epoch", 0) == 1);
  CHECK(int_or(*good, "checked", 0) == 10);
  CHECK(bool_or(*good, "ok", false));
  CHECK((*good)["first_bad"].is_null());
  server.seen.damaged_at = 4;
  const auto bad = parse_json(body_of(server.get(target)));
  REQUIRE(bad);
  CHECK_FALSE(bool_or(*bad, "ok", true));
  CHECK(int_or(*bad, "first_bad", 0) == 4);
  CHECK_FALSE(string_or(*bad, "problem").empty());
  CHECK(status_of(server.get("/api/v1/workspaces/none/verify")) == 404);
}
