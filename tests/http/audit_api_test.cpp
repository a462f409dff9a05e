#include "server_fixture.hpp"
#include "tests/support/text.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::test;
using namespace tidemark::testing;
using namespace std::chrono_literals;

namespace {

const std::string feed = "/api/v1/events";
const std::string as_frames = "Accept: text/event-stream\r\n";
const std::string as_lines = "Accept: application/x-ndjson\r\n";

std::string asking(const std::string& target, const std::string& headers) {
  return "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n";
}

/// The positions of the events in an answer of any form, as they came.
std::vector<std::uint64_t> places(const std::string& body) {
  const std::string name = "\"position\":";
  std::vector<std::uint64_t> out;
  for (auto at = body.find("\"offset\":"); at != std::string::npos;
       at = body.find("\"offset\":", at + 1))
    out.push_back(std::strtoull(body.c_str() + body.find(name, at) + name.size(), nullptr, 10));
  return out;
}

using numbers = std::vector<std::uint64_t>;

} // namespace

SCENARIO("the audit feed holds the events of all workspaces, in the order they were stored") {
  server_fixture server;
  server.append("a", 3);
  server.append("b", 2);
  server.append("a", 1);
  const auto all = parse_json(body_of(server.get(feed)));
  REQUIRE(all);
  CHECK(places(dump_json(*all)) == numbers{1, 2, 3, 4, 5, 6});
  CHECK(int_or(*all, "head", 0) == 6);
  CHECK(string_or(*all, "next") == "1-6");
  CHECK(bool_or(*all, "complete", false));
  CHECK(places(body_of(server.get(feed + "?after=4"))) == numbers{5, 6});
  CHECK(places(body_of(server.get(feed + "?workspace=b"))) == numbers{4, 5});
  CHECK(places(body_of(server.get(feed + "?workspace=b,a&after=3&limit=2"))) == numbers{4, 5});
  CHECK(places(body_of(server.get(feed + "?types=item.completed"))) == numbers{2, 5});
  CHECK(places(body_of(server.get(feed + "?types=item.*&workspace=b"))) == numbers{4, 5});
  CHECK(places(body_of(server.get(feed + "?turn=turn-b"))) == numbers{2, 5});
  CHECK(places(body_of(server.get(feed + "?order=newest&limit=2"))) == numbers{6, 5});
  CHECK(places(body_of(server.get(feed + "?order=newest&after=5&types=item.completed")))
        == numbers{2});
  CHECK(places(body_of(server.get(feed + "?text=nowhere"))).empty());
  CHECK(places(body_of(server.get(feed + "?to=1970-01-01T00:00:01Z"))).empty());
  CHECK(places(body_of(server.get(feed + "?from=1970-01-01T00:00:01Z"))).size() == 6);
  CHECK(has(body_of(server.get(feed + "?raw=true&limit=1")), "\"raw\":\"raw line\""));
}

SCENARIO("pages of the audit feed follow one another by their cursor, without gap or repetition") {
  server_fixture server;
  for (int i = 0; i < 10; ++i)
    server.append(i % 2 == 0 ? "a" : "b", 10);
  for (const std::string way : {"oldest", "newest"}) {
    numbers seen;
    std::string after;
    for (int page = 0; page < 100; ++page) {
      const auto answer =
        parse_json(body_of(server.get(feed + "?limit=7&order=" + way + "&after=" + after)));
      REQUIRE(answer);
      for (const auto at : places(dump_json(*answer)))
        seen.push_back(at);
      after = string_or(*answer, "next");
      if (bool_or(*answer, "complete", false))
        break;
    }
    numbers expected;
    for (std::uint64_t at = 1; at <= 100; ++at)
      expected.push_back(way == "oldest" ? at : 101 - at);
    CHECK(seen == expected);
  }
}

SCENARIO("the audit feed comes as lines, and follows as frames from where its reader was") {
  server_fixture server;
  server.append("a", 3);
  const auto lines_answer = server.get(feed, as_lines);
  CHECK(has(lines_answer, "application/x-ndjson"));
  CHECK(places(body_of(lines_answer)) == numbers{1, 2, 3});

  test::raw_client client{server.port};
  client.send(asking(feed + "?types=item.delta", as_frames + "Last-Event-ID: 1\r\n"));
  auto got = client.read_until("id: 1-3\n");
  CHECK(has(got, "event: hello"));
  server.append("b", 2);
  got += client.read_until("id: 1-4\n");
  got += client.read_until("\n\n", 200ms);
  CHECK(places(got) == numbers{3, 4});

  test::raw_client following{server.port};
  following.send(asking(feed + "?follow=true&workspace=c", as_lines));
  following.read_until("\r\n\r\n");
  server.append("c", 1);
  CHECK(has(following.read_until("\"position\":6"), "\"workspace\":\"c\""));
}

SCENARIO("a page of the audit feed waits for what it asks for") {
  server_fixture server;
  server.append("a", 1);
  test::raw_client client{server.port};
  client.send(asking(feed + "?after=1&wait=10s&types=item.completed", {}));
  server.append("a", 1); // of another type: not what is waited for
  server.append("b", 2);
  CHECK(places(client.read_until("\"complete\"")) == numbers{4});
}

SCENARIO("a question that finds nothing for long says how far it is") {
  server_fixture server;
  for (int i = 0; i < 60; ++i)
    server.append("a", 1000);
  test::raw_client client{server.port};
  client.send(asking(feed + "?text=nowhere&workspace=a", {}));
  const auto page = client.read_until("\"complete\"");
  CHECK(has(page, "\"looked_at\":"));
}

SCENARIO("a cursor of another history of the log is told, each kind in its own way") {
  server_fixture server;
  server.append("a", 5);
  CHECK(status_of(server.get(feed + "?after=6")) == 416);
  CHECK(has(body_of(server.get(feed + "?after=2-3")), R"("reason":"epoch")"));
  CHECK(status_of(server.get(feed + "?after=2-3", as_lines)) == 409);
  CHECK(places(body_of(server.get(feed + "?after=1-3"))) == numbers{4, 5});
  CHECK(status_of(server.get(feed + "?after=5")) == 200);

  test::raw_client stranger{server.port};
  stranger.send(asking(feed, as_frames + "Last-Event-ID: 2-3\r\n"));
  const auto got = stranger.read_until("id: 1-5\n");
  CHECK(got.find("event: gap") < got.find("id: 1-1\n"));
  CHECK(has(got, R"("requested":"2-3")"));
  test::raw_client early{server.port};
  early.send(asking(feed + "?after=9", as_frames));
  auto told = early.read_until("event: gap");
  server.append("a", 1);
  told += early.read_until("id: 1-6\n");
  CHECK(has(told, R"("reason":"ahead")"));

  server.seen.restored = 1'796'000'000;
  CHECK(status_of(server.get(feed + "?after=1-3")) == 409);
  const auto anew = parse_json(body_of(server.get(feed + "?limit=2")));
  REQUIRE(anew);
  CHECK(string_or(*anew, "next") == "1796000000-2");
}

SCENARIO("the audit feed says what is wrong with a question") {
  server_fixture server;
  for (const auto* wrong :
       {"after=-1", "after=1-2-3", "limit=0", "from=yesterday", "to=2026", "order=both",
        "raw=maybe", "wait=soon", "order=newest&follow=true", "after=99999999999999999999"}) {
    INFO(wrong);
    CHECK(status_of(server.get(feed + "?" + wrong)) == 400);
  }
  CHECK(status_of(server.get(feed + "?unknown=1")) == 200);
}

SCENARIO("an audit feed that meets damage ends without its last chunk, and says so in a frame") {
  server_fixture server;
  server.append("a", 5);
  server.seen.damaged_at = 3;
  CHECK(status_of(server.get(feed)) == 500);
  const auto frames = server.get(feed, as_frames);
  CHECK(has(frames, "event: error"));
  CHECK_FALSE(ends_properly(frames));
}

SCENARIO("readers of the audit feed have seats like all others") {
  http_options options;
  options.max_readers = 1;
  server_fixture server{options};
  server.append("w", 1);
  test::raw_client first{server.port};
  first.send(asking("/api/v1/workspaces/w/events", as_frames));
  first.read_until("id: 1-1");
  CHECK(has(server.get(feed, as_frames), "event: overload"));
  CHECK(status_of(server.get(feed, as_lines)) == 503);
  CHECK(status_of(server.get(feed)) == 200);
}
