// Failures that nobody has reported yet, beside those that somebody has: requests and readers.
// docs/neighbours.md lists them.
#include "tests/integration/contract_scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/raw_client.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <thread>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// One request, byte by byte as given, with this server's token. `headers` end with CR LF.
std::string ask(const contract_scene& stage, const std::string& line, const std::string& headers,
                const std::string& body = {}) {
  raw_client client(stage.old.server().port);
  client.send(line + "\r\nHost: localhost\r\nAuthorization: Bearer " + stage.server.token()
              + "\r\nConnection: close\r\n" + headers + "\r\n" + body);
  return client.read_all();
}

std::string get(const contract_scene& stage, const std::string& path,
                const std::string& headers = {}) {
  return ask(stage, "GET " + path + " HTTP/1.1", headers);
}

} // namespace

SCENARIO(
  "neighbour of B55: a cursor given twice, or with signs and spaces, is refused, and one with "
  "leading zeros is that number") {
  contract_scene stage;
  stage.run("demo", "hello");
  const auto path = of("demo", "events");
  const auto whole = stage.events("demo");
  CHECK(status_of(get(stage, path, "Last-Event-ID: 1\r\nLast-Event-ID: 5\r\n")) == 400);
  CHECK(status_of(get(stage, path, "Last-Event-ID: 1\r\nlast-event-id: 1\r\n")) == 400);
  for (const char* bad : {"%2B1", "%201", "1%20", "1-", "-1", "0x1", "1-1-1", "%D9%A3", "1.0",
                          "9223372036854775808", "99999999999999999999999"}) {
    INFO(bad);
    CHECK(stage.client.get(path + "?after=" + bad).status == 400);
  }
  const auto zeros = stage.client.get(path + "?after=0003").parsed();
  REQUIRE_FALSE(array_at(zeros, "events").empty());
  CHECK(int_or(array_at(zeros, "events").at(0), "offset", 0) == 4);
  // An empty header is none: the parameter counts.
  const auto empty = body_of(get(stage, path + "?after=2&limit=1", "Last-Event-ID: \r\n"));
  CHECK(int_or(array_at(*parse_json(empty), "events").at(0), "offset", 0) == 3);
}

SCENARIO("neighbour of B58: epoch 0 is no epoch, and offset 0 is before the first event") {
  contract_scene stage;
  stage.run("demo", "hello");
  const auto path = of("demo", "events");
  CHECK(stage.client.get(path + "?after=0-0").status == 409);
  CHECK(stage.client.get(path + "?after=0-1").status == 409);
  const auto epoch = int_or(stage.client.get(path).parsed(), "epoch", 0);
  CHECK(epoch > 0);
  const auto first = stage.client.get(path + "?after=" + std::to_string(epoch) + "-0").parsed();
  CHECK(int_or(array_at(first, "events").at(0), "offset", 0) == 1);
  sse_reader reader(stage.client, path, {.headers = {{"Last-Event-ID", "0-0"}}});
  REQUIRE(reader.wait_for("gap"));
  REQUIRE(reader.wait_for("turn.completed"));
  CHECK(dense_from(reader.events(), 1));
}

SCENARIO("neighbour of B62: a client that stalls within its request's head is told so and closed, "
         "and delays nobody") {
  contract_scene stage({.environment = {{"TIDEMARK_HTTP_REQUEST_TIMEOUT", "500ms"},
                                        {"TIDEMARK_HTTP_IDLE_TIMEOUT", "700ms"}}});
  raw_client in_head(stage.old.server().port);
  in_head.send("POST /api/v1/message HTTP/1.1\r\nHost: localh");
  raw_client in_body(stage.old.server().port);
  in_body.send("POST /api/v1/message HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
               + stage.server.token() + "\r\nContent-Length: 100\r\n\r\n{\"con");
  raw_client silent(stage.old.server().port);
  CHECK(contract_task(stage.old, "demo", "ECHO meanwhile").finish().text == "meanwhile");
  CHECK(status_of(in_head.read_all()) == 408);
  CHECK(status_of(in_body.read_all()) == 408);
  CHECK(silent.read_all().empty());
  CHECK(silent.closed_by_server());
}

SCENARIO("neighbour of B63: a client that resets its connection between the last chunk and the "
         "terminator finds the result pending, once") {
  contract_scene stage;
  for (int i = 0; i < 10; ++i) {
    const auto workspace = "w" + std::to_string(i);
    {
      raw_client client(stage.old.server().port);
      const auto body = message(workspace, "ECHO nearly").dump();
      client.send(
        "POST /api/v1/message/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        + stage.server.token() + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n"
        + body);
      const auto seen = client.read_until("\"type\":\"done\"");
      REQUIRE(seen.find("\"done\"") != std::string::npos);
      if (ends_properly(seen))
        continue; // the terminator came along: this one has it all
      client.leave(true);
    }
    CHECK(poll_until([&] { return stage.peek(workspace).at("count") == 1; }));
    CHECK(count_of(stage.events(workspace, "types=result.*"), "result.delivered") == 0);
  }
}

SCENARIO("neighbour of B63: reading pending results takes them only where it is meant to") {
  contract_scene stage;
  {
    const contract_task task(stage.old, "demo", "PAUSE 200\nECHO kept");
    stage.await_event("demo", "turn.started");
  }
  REQUIRE(poll_until([&] { return stage.peek("demo").at("count") == 1; }));
  const auto path = of("demo", "pending-results");
  for (const char* peek : {"?ack=false", "?ack=False", "?ack=FALSE", "?ack=0"}) {
    INFO(peek);
    const auto answer = stage.client.get(path + peek);
    CHECK(answer.status == 200);
    CHECK(int_or(answer.parsed(), "count", 0) == 1);
  }
  for (const char* unclear : {"?ack=no", "?ack=", "?ack=off", "?ack=false%20"}) {
    INFO(unclear);
    CHECK(stage.client.get(path + unclear).status == 400);
  }
  CHECK(status_of(ask(stage, "HEAD " + path + " HTTP/1.1", {})) == 200);
  CHECK(stage.peek("demo").at("count") == 1);
  CHECK(int_or(stage.client.get(path).parsed(), "count", 0) == 1);
}

SCENARIO(
  "neighbour of B66: one key at the same time with two bodies runs one of them, and a key is "
  "its workspace's own") {
  contract_scene stage;
  std::atomic<int> accepted{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 12; ++i)
    clients.emplace_back([&, i] {
      const auto answer = stage.client.post(
        of("demo", "turns"),
        json::object({{"prompt", "TOOL echo x >> runs; echo " + std::to_string(i % 2)}}),
        {{"Idempotency-Key", "one key"}});
      accepted += answer.status == 202 ? 1 : 0;
      refused += answer.status == 422 ? 1 : 0;
    });
  for (auto& client : clients)
    client.join();
  CHECK(accepted == 6);
  CHECK(refused == 6);
  const auto elsewhere = stage.client.post(
    of("other", "turns"), json::object({{"prompt", "hello"}}), {{"Idempotency-Key", "one key"}});
  CHECK(elsewhere.status == 202);
  CHECK_FALSE(bool_or(elsewhere.parsed(), "repeated", true));
  stage.await_event("demo", "turn.completed");
  CHECK(count_of(stage.events("demo"), "turn.queued") == 1);
  CHECK(read_file(stage.server.workspace("demo") + "/runs") == "x\n");
  const auto twice = ask(stage, "POST " + of("demo", "turns") + " HTTP/1.1",
                         "Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 18\r\n",
                         R"({"prompt":"hello"})");
  CHECK(status_of(twice) == 400);
}

SCENARIO(
  "neighbour of B67: cancels and interrupts that meet each other, or the start of their turn, "
  "end it once and leave the next alone") {
  const auto seed = std::random_device{}();
  std::mt19937 random{seed};
  INFO("seed " << seed);
  contract_scene stage({.environment = {{"TIDEMARK_AGENT_INTERRUPT_GRACE", "300ms"},
                                        {"TIDEMARK_AGENT_KILL_GRACE", "200ms"}}});
  for (int round = 0; round < 15; ++round) {
    const auto turn = stage.submit("demo", "WORDS 5000 5");
    const auto next = stage.submit("demo", "ECHO next");
    const auto wait = milliseconds(random() % 60);
    const auto first = random() % 3;
    std::this_thread::sleep_for(wait); // the moment is what is drawn
    std::atomic<int> said{0};
    const auto stop = [&](unsigned how) {
      const auto path = of("demo", "turns/" + turn);
      const auto answer = how == 0   ? stage.client.post(path + "/interrupt")
                          : how == 1 ? stage.client.remove(path)
                                     : stage.client.remove(of("demo", "queue/" + turn));
      said += answer.status == 200 && bool_or(answer.parsed(), "cancelled", false) ? 1 : 0;
    };
    std::thread other(stop, (first + 1) % 3);
    stop(static_cast<unsigned>(first));
    other.join();
    INFO("round " << round << ", after " << wait.count() << " ms, first " << first);
    CHECK(said >= 1);
    CHECK(outcome_of(stage.completion("demo", turn)) == "cancelled");
    CHECK(outcome_of(stage.completion("demo", next)) == "succeeded");
  }
  const auto events = stage.events("demo", "types=turn.*");
  CHECK(count_of(events, "turn.queued") == 30);
  CHECK(count_of(events, "turn.completed") == 30);
}

SCENARIO("neighbour of B73: requests at the edges of HTTP get the answer that HTTP names") {
  contract_scene stage({.environment = {{"TIDEMARK_HTTP_MAX_BODY", "1MiB"}}});
  const std::string post = "POST /api/v1/message HTTP/1.1";
  const std::string echo = R"({"content":"ECHO x"})";
  struct row {
    const char* what;
    int status;
    std::string line, headers, body;
  };
  const row rows[] = {
    {"Content-Length beside Transfer-Encoding", 400, post,
     "Content-Length: 20\r\nTransfer-Encoding: chunked\r\n", "14\r\n" + echo + "\r\n0\r\n\r\n"},
    {"two lengths", 400, post, "Content-Length: 20\r\nContent-Length: 21\r\n", echo},
    {"a negative length", 400, post, "Content-Length: -1\r\n", ""},
    {"a chunk size that overflows", 400, post, "Transfer-Encoding: chunked\r\n",
     "FFFFFFFFFFFFFFFFFF\r\n" + echo},
    {"a coding that is not chunked", 400, post, "Transfer-Encoding: gzip, chunked\r\n",
     "14\r\n" + echo + "\r\n0\r\n\r\n"},
    {"an endless chunk extension", 413, post, "Transfer-Encoding: chunked\r\n",
     "14;" + std::string(2 << 20, 'x')},
    {"a chunked body with a trailer", 200, post, "Transfer-Encoding: chunked\r\n",
     "14\r\n" + echo + "\r\n0\r\nX-Trailer: 1\r\n\r\n"},
    {"100 Continue before a body over the limit", 413, post,
     "Expect: 100-continue\r\nContent-Length: 99999999999\r\n", ""},
    {"another expectation", 417, post, "Expect: miracles\r\nContent-Length: 20\r\n", ""},
    {"an object, a NUL and another object", 400, post, "Content-Length: 41\r\n",
     echo + '\0' + R"({"content":"ECHO y"})"},
    {"two Hosts", 400, "GET /health HTTP/1.1", "Host: other\r\n", ""},
    {"two tokens", 400, "GET /api/v1/status HTTP/1.1", "Authorization: Bearer wrong\r\n", ""},
    {"a blank before the colon", 400, "GET /health HTTP/1.1", "X-Odd : 1\r\n", ""},
    {"the absolute form", 200, "GET http://localhost/health HTTP/1.1", "", ""},
    {"OPTIONS for the server", 404, "OPTIONS * HTTP/1.1", "", ""},
    {"HEAD", 200, "HEAD /api/v1/status HTTP/1.1", "", ""},
    {"HTTP/1.0", 200, "GET /api/v1/status HTTP/1.0", "", ""},
    {"HTTP/2 in clear text", 200, "GET /api/v1/status HTTP/1.1",
     "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n", ""},
    {"an unknown method", 405, "BREW /health HTTP/1.1", "", ""},
    {"a NUL in the path", 400, "GET /api/v1/workspaces/a%00b/queue HTTP/1.1", "", ""},
    {"a path that climbs", 404, "GET /api/v1/../v1/status HTTP/1.1", "", ""},
    {"a body in UTF-16", 400, post, "Content-Length: 8\r\n", std::string("\xff\xfe{\0}\0 \0", 8)},
  };
  for (const auto& [what, status, line, headers, body] : rows) {
    INFO(what);
    const auto answer = ask(stage, line, headers, body);
    INFO(answer.substr(0, 300));
    CHECK(status_of(answer) == status);
    if (status >= 400) {
      const auto said = parse_json(body_of(answer));
      CHECK((said && said->is_object()));
    }
  }
  raw_client nameless(stage.old.server().port);
  nameless.send("GET /health HTTP/1.1\r\n\r\n");
  CHECK(status_of(nameless.read_all()) == 400);
  // A stream in HTTP/1.0 has no chunks: its end is the connection's.
  const auto old =
    ask(stage, "POST /api/v1/message/stream HTTP/1.0", "Content-Length: 20\r\n", echo);
  CHECK(status_of(old) == 200);
  CHECK(old.find("Transfer-Encoding") == std::string::npos);
  CHECK(old.find("\"done\"") != std::string::npos);
}

SCENARIO("neighbour of B76: an origin that only looks like ours, or is said twice, is foreign") {
  contract_scene stage;
  const auto from = [&](const std::string& origin) {
    return status_of(get(stage, "/api/v1/status", "Origin: " + origin + "\r\n"));
  };
  for (const char* foreign :
       {"null", "http://localhost.", "http://user@localhost", "http://localhost@evil.example",
        "http://localhost/", "HTTP://localhost", "http://[::1]", "http://localhost.evil.example",
        "http://localhost:81", "file://", "chrome-extension://abc", "http://", "//localhost",
        "http://localhost http://evil.example"}) {
    INFO(foreign);
    CHECK(from(foreign) == 403);
  }
  CHECK(from("http://localhost") == 200);
  for (const char* twice : {"Origin: http://localhost\r\nOrigin: https://evil.example\r\n",
                            "Origin: \r\nOrigin: https://evil.example\r\n",
                            "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n",
                            "Content-Type: application/json\r\nContent-Type: text/plain\r\n"}) {
    INFO(twice);
    const auto status = status_of(get(stage, "/api/v1/status", twice));
    CHECK((status == 400 || status == 403));
  }
}

SCENARIO("neighbour of B38: while a queue is paused its turns can be cancelled, and a reset tries "
         "again at once") {
  contract_scene stage({.environment = {{"TIDEMARK_WORKSPACE_AUTH_FAILURES", "2"},
                                        {"TIDEMARK_WORKSPACE_AUTH_PAUSE", "1h"}}});
  std::vector<std::string> turns;
  for (const char* prompt : {"AUTHFAIL", "AUTHFAIL", "ECHO cancelled", "ECHO after the reset"})
    turns.push_back(stage.submit("demo", prompt));
  stage.completion("demo", turns[1]);
  REQUIRE(poll_until([&] {
    return count_of(stage.events("demo", "types=agent.notice"), "agent.notice") >= 1
           && stage.queue_of("demo").at("queue_length") == 2;
  }));
  CHECK(stage.old.remove(of("demo", "queue/" + turns[2]), "Cancel").at("cancelled") == true);
  CHECK(outcome_of(stage.completion("demo", turns[2])) == "cancelled");
  CHECK(stage.old.remove(of("demo", "queue/current"), "Cancel").at("cancelled") == false);
  CHECK(stage.queue_of("demo").at("queue_length") == 1);
  stage.old.post(of("demo", "session/reset"), "Reset");
  CHECK(outcome_of(stage.completion("demo", turns[3])) == "succeeded");
}
