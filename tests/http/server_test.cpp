#include "server_fixture.hpp"
#include "tests/support/text.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <mutex>

using namespace tidemark;
using namespace tidemark::test;
using namespace tidemark::testing;
using namespace std::chrono_literals;

namespace {

expected<answer> submitted(const std::string& name, bool, const command&) {
  submit_reply reply;
  reply.turn = "t1";
  reply.at = offset{2};
  reply.global = position{7};
  reply.stream.name = name;
  reply.stream.incarnation = epoch{3};
  return reply;
}

} // namespace

SCENARIO("the operations endpoints tell how the server stands") {
  server_fixture server;
  const auto health = server.get("/health");
  CHECK(status_of(health) == 200);
  CHECK(body_of(health) == R"({"status":"healthy","version":"1.2.3"})");
  CHECK(status_of(server.get("/ready")) == 200);
  const auto metrics = server.get("/metrics");
  CHECK(status_of(metrics) == 200);
  CHECK(has(metrics, "tidemark_http_requests_total"));
  server.stopping = true;
  const auto ready = server.get("/ready");
  CHECK(status_of(ready) == 503);
  CHECK(has(body_of(ready), "stopping"));
}

SCENARIO("with a token everything but health needs it, before any side effect") {
  http_options options;
  options.token = "secret-token";
  auto asked = std::make_shared<std::atomic<int>>(0);
  server_fixture server{options,
                        [asked](const std::string& name, bool create, const command& what) {
                          ++*asked;
                          return submitted(name, create, what);
                        }};
  CHECK(status_of(server.get("/health")) == 200);
  const auto refused = server.request("POST", "/api/v1/workspaces/w/turns", R"({"prompt":"x"})");
  CHECK(status_of(refused) == 401);
  CHECK(has(refused, "WWW-Authenticate: Bearer"));
  CHECK(status_of(server.get("/metrics")) == 401);
  CHECK(status_of(server.get("/nowhere")) == 401);
  CHECK(status_of(server.request("POST", "/api/v1/workspaces/w/turns", R"({"prompt":"x"})",
                                 "Authorization: bearer wrong\r\n"))
        == 401);
  CHECK(*asked == 0);
  CHECK(status_of(server.request("POST", "/api/v1/workspaces/w/turns", R"({"prompt":"x"})",
                                 "Authorization: bEARER secret-token\r\n"))
        == 202);
  CHECK(*asked == 1);
}

SCENARIO("without a token other addresses than loopback are not served") {
  http_options options;
  options.host = "0.0.0.0";
  http_options good;
  server_fixture server{good};
  CHECK(status_of(server.get("/health", "Origin: https://evil.example\r\n")) == 403);
  CHECK(status_of(server.request("POST", "/api/v1/workspaces/w/turns", "{}",
                                 "Origin: http://127.0.0.1\r\nContent-Type: text/plain\r\n"))
        == 403);
}

SCENARIO("a page of another port may neither ask nor leave out what its body is") {
  server_fixture server{{}, submitted};
  const auto post = [&](const std::string& headers) {
    return status_of(
      server.request("POST", "/api/v1/workspaces/w/turns", R"({"prompt":"x"})", headers));
  };
  CHECK(post("Origin: http://127.0.0.1:3000\r\nContent-Type: application/json\r\n") == 403);
  CHECK(post("Origin: http://127.0.0.1\r\n") == 403);
  CHECK(post("Origin: http://127.0.0.1\r\nContent-Type: application/json;charset=utf-8\r\n")
        == 202);
  CHECK(post("Sec-Fetch-Site: same-site\r\nContent-Type: application/json\r\n") == 403);
  CHECK(post("Sec-Fetch-Site: none\r\n") == 202);
  CHECK(post("") == 202);
}

SCENARIO("a request whose end a proxy could see elsewhere is refused and its connection closed") {
  server_fixture server;
  for (const auto* framing :
       {"Transfer-Encoding: gzip\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n"}) {
    INFO(framing);
    raw_client client{server.port};
    client.send(std::string{"POST /health HTTP/1.1\r\nHost: a\r\n"} + framing
                + "\r\n0\r\n\r\nGET /ready HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto answers = client.read_all();
    CHECK(status_of(answers) == 400);
    CHECK(answers.find("HTTP/1.1 ", 1) == std::string::npos);
    CHECK(client.closed_by_server());
  }
}

SCENARIO("paths that do not exist and wrong methods are told apart, with bounded metrics labels") {
  server_fixture server;
  CHECK(status_of(server.get("/nowhere")) == 404);
  const auto wrong = server.request("POST", "/health", "");
  CHECK(status_of(wrong) == 405);
  CHECK(has(wrong, "Allow: GET, HEAD"));
  const auto before = server.metrics.expose().size();
  for (int i = 0; i < 200; ++i)
    CHECK(status_of(server.get("/random/" + std::to_string(i))) == 404);
  CHECK(server.metrics.expose().size() < before + 500);
}

SCENARIO("HEAD has the headers without the body, HTTP/1.0 closes, keep-alive and pipelining keep "
         "the order") {
  server_fixture server;
  const auto head = server.request("HEAD", "/health", "");
  CHECK(status_of(head) == 200);
  CHECK(has(head, "Content-Length: 38"));
  CHECK(body_of(head).empty());

  raw_client old{server.port};
  old.send("GET /health HTTP/1.0\r\n\r\n");
  const auto answer = old.read_all();
  CHECK(status_of(answer) == 200);
  CHECK(old.closed_by_server());

  raw_client both{server.port};
  both.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET /ready HTTP/1.1\r\nHost: a\r\n\r\n"
            "GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const auto all = both.read_all();
  const auto first = all.find("healthy");
  const auto second = all.find("\"ready\"");
  const auto third = all.find("404");
  CHECK(first < second);
  CHECK(second < third);
  CHECK(third != std::string::npos);
}

SCENARIO("every limit has a status, a name and a metric, and leaves other clients alone") {
  http_options options;
  options.max_body_bytes = 10'000;
  options.max_header_bytes = 4'096;
  options.request_timeout = 300ms;
  options.idle_timeout = 200ms;
  server_fixture server{options, submitted};

  GIVEN("a body that its length announces as too large") {
    const auto answer =
      server.request("POST", "/api/v1/workspaces/w/turns", std::string(20'000, 'x'));
    CHECK(status_of(answer) == 413);
    CHECK(has(body_of(answer), "http.max_body)"));
    CHECK(server.series("tidemark_http_limit_hits_total{limit=\"body\"}") == 1);
  }
  GIVEN("a chunked body without end") {
    raw_client client{server.port};
    client.send(
      "POST /api/v1/workspaces/w/turns HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 20; ++i)
      client.send("400\r\n" + std::string(1024, 'x') + "\r\n");
    CHECK(status_of(client.read_all()) == 413);
  }
  GIVEN("headers that are too large") {
    CHECK(status_of(server.get("/health", "X: " + std::string(8'000, 'x') + "\r\n")) == 431);
    CHECK(server.series("tidemark_http_limit_hits_total{limit=\"header\"}") == 1);
  }
  GIVEN("a request that never becomes complete") {
    raw_client client{server.port};
    client.send("GET /health HTTP/1.1\r\n");
    CHECK(status_of(client.read_all()) == 408);
  }
  GIVEN("a body that never becomes complete") {
    raw_client client{server.port};
    client.send(
      "POST /api/v1/workspaces/w/turns HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{");
    CHECK(status_of(client.read_all()) == 408);
  }
  GIVEN("an idle connection") {
    raw_client client{server.port};
    CHECK(client.read_all().empty());
    CHECK(client.closed_by_server());
    CHECK(server.series("tidemark_http_limit_hits_total{limit=\"idle\"}") == 1);
  }
  GIVEN("a chunk extension of a megabyte") {
    raw_client client{server.port};
    client.send("POST /api/v1/workspaces/w/turns HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
                "chunked\r\n\r\n1;");
    client.send(std::string(1 << 20, 'e'));
    const auto status = status_of(client.read_all());
    CHECK((status == 413 || status == 400));
  }
  CHECK(status_of(server.get("/health")) == 200);
}

SCENARIO("too many connections are told so and closed") {
  http_options options;
  options.max_connections = 1;
  server_fixture server{options};
  raw_client first{server.port};
  first.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(status_of(first.read_until("}")) == 200);
  raw_client second{server.port};
  const auto answer = second.read_until("}}");
  CHECK(status_of(answer) == 503);
  CHECK(has(answer, "max_connections"));
}

SCENARIO("input that is not HTTP gets a 400 and harms nobody") {
  server_fixture server;
  for (const auto* text :
       {"\r\n\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\x16\x03\x01\x02\x00\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nbad header\r\n\r\n"}) {
    INFO(text);
    raw_client client{server.port};
    client.send(text);
    const auto status = status_of(client.read_all(2s));
    CHECK((status == 0 || status == 400 || status == 404 || status == 505 || status == 403));
  }
  CHECK(status_of(server.get("/health")) == 200);
}

SCENARIO("a client that waits for 100 Continue gets it, and a refused one gets only the refusal") {
  server_fixture server{{}, submitted};
  raw_client client{server.port};
  client.send("POST /api/v1/workspaces/w/turns HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
              "Connection: close\r\nContent-Length: 14\r\n\r\n");
  CHECK(has(client.read_until("\r\n\r\n"), "100 Continue"));
  client.send(R"({"prompt":"x"})");
  CHECK(status_of(client.read_all()) == 202);

  raw_client refused{server.port};
  refused.send(
    "POST /nowhere HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 14\r\n\r\n");
  CHECK(status_of(refused.read_all(4s)) == 404);
}

SCENARIO("a turn is accepted with its place, and a bad field is named") {
  server_fixture server{{}, submitted};
  const auto answer =
    server.request("POST", "/api/v1/workspaces/w/turns", R"({"prompt":"x \ud800 y"})");
  CHECK(status_of(answer) == 202);
  const auto body = parse_json(body_of(answer));
  REQUIRE(body);
  CHECK(string_or(*body, "turn") == "t1");
  CHECK(int_or(*body, "offset", 0) == 2);
  CHECK(int_or(*body, "position", 0) == 7);
  CHECK(int_or(*body, "epoch", 0) == 3);
  CHECK(has(answer, "Location: /api/v1/workspaces/w/turns/t1"));

  using row = std::pair<const char*, const char*>;
  for (const auto& [text, named] :
       {row{"", "JSON"}, row{"[]", "object"}, row{"{}", "prompt"},
        row{R"({"prompt":""})", "prompt"}, row{R"({"prompt":5})", "prompt"},
        row{R"({"prompt":"x","env":{"A":1}})", "env.A"},
        row{R"({"prompt":"x","env":{"A=B":"1"}})", "env"},
        row{R"({"prompt":"x","on_restart":"maybe"})", "on_restart"},
        row{R"({"prompt":"x","timeout_s":0})", "timeout_s"},
        row{R"({"prompt":"x","timeout_s":1.5})", "timeout_s"},
        row{R"({"prompt":"x","metadata":[]})", "metadata"},
        row{R"({"prompt":"x","source":1})", "source"}}) {
    INFO(text);
    const auto refused = server.request("POST", "/api/v1/workspaces/w/turns", text);
    CHECK(status_of(refused) == 400);
    CHECK(has(body_of(refused), named));
    CHECK(has(refused, "application/problem+json"));
  }
  CHECK(status_of(server.request("POST", "/api/v1/workspaces/.x/turns", R"({"prompt":"x"})"))
        == 400);
}

SCENARIO("a reused idempotency key is a 422, and what the key is for reaches the workspace") {
  server_fixture server{{}, [](const std::string&, bool, const command& what) -> expected<answer> {
                          const auto& turn = std::get<submit_turn>(what);
                          if (turn.idempotency_key != "k" || turn.body_hash.size() != 64)
                            return fail(errc::internal, "the key was lost");
                          return fail(errc::conflict, "the key was used with another body");
                        }};
  CHECK(status_of(server.request("POST", "/api/v1/workspaces/w/turns", R"({"prompt":"x"})",
                                 "Idempotency-Key: k\r\n"))
        == 422);
}

SCENARIO("what could not be kept or started is refused when it is sent, by its limit's name") {
  http_options options;
  options.request_timeout = 60s;
  server_fixture server{options, submitted};
  const auto path = std::string{"/api/v1/workspaces/w/turns"};
  const auto body = std::string{R"({"prompt":"x"})"};
  CHECK(status_of(server.request("POST", path, body, "Idempotency-Key: a\xC3\xA4\r\n")) == 400);
  CHECK(status_of(
          server.request("POST", path, body, "Idempotency-Key: " + std::string(300, 'k') + "\r\n"))
        == 400);
  const auto big = R"({"prompt":"x","env":{"A":")" + std::string(128 << 10, 'v') + R"("}})";
  const auto refused = server.request("POST", path, big);
  CHECK(status_of(refused) == 413);
  CHECK(has(body_of(refused), "131070 bytes"));
  auto many = std::string{R"({"prompt":"x","metadata":{"a":[0)"};
  for (int i = 0; i < 1'000'001; ++i)
    many += ",0";
  const auto crowded = server.request("POST", path, many + "]}}");
  CHECK(status_of(crowded) == 413);
  CHECK(has(body_of(crowded), "1000000 values"));
  CHECK(
    status_of(server.request("POST", path, R"({"prompt":")" + std::string(1 << 20, 'x') + "\"}"))
    == 202);
}

SCENARIO("a turn whose acceptance comes too late for its client is given up by name") {
  http_options options;
  options.answer_deadline = 50ms;
  std::atomic<bool> client_knows{false};
  std::mutex mutex;
  std::string submitted_turn;
  std::string left_turn;
  server_fixture server{options,
                        [&](const std::string&, bool, const command& what) -> expected<answer> {
                          if (const auto* turn = std::get_if<submit_turn>(&what)) {
                            {
                              const std::lock_guard lock{mutex};
                              submitted_turn = turn->turn;
                            }
                            server_fixture::eventually([&] { return client_knows.load(); });
                            submit_reply reply;
                            reply.turn = turn->turn;
                            return reply;
                          }
                          const std::lock_guard lock{mutex};
                          if (const auto* left = std::get_if<client_left>(&what))
                            left_turn = left->turn;
                          return done{};
                        }};
  const auto answer = server.request("POST", "/api/v1/message", R"({"content":"hi"})");
  CHECK(has(body_of(answer), "RUNTIME_UNAVAILABLE"));
  client_knows = true;
  CHECK(server_fixture::eventually([&] {
    const std::lock_guard lock{mutex};
    return !left_turn.empty() && left_turn == submitted_turn;
  }));
}

SCENARIO("B74: an actor that fails is a 500 with an id, not a hang") {
  server_fixture server{{}, [](const std::string&, bool, const command&) -> expected<answer> {
                          throw std::runtime_error("a bug");
                        }};
  const auto answer = server.request("POST", "/api/v1/workspaces/w/turns", R"({"prompt":"x"})");
  CHECK(status_of(answer) == 500);
  CHECK(has(body_of(answer), "err_id"));
  CHECK(status_of(server.get("/health")) == 200);
}

SCENARIO("a turn that nobody knows is a 404 in every call") {
  server_fixture server;
  server.append("w", 1);
  CHECK(status_of(server.get("/api/v1/workspaces/w/turns/none")) == 404);
  CHECK(status_of(server.get("/api/v1/workspaces/none/turns")) == 404);
  CHECK(status_of(server.request("DELETE", "/api/v1/workspaces/w/turns/none", "")) == 404);
  CHECK(body_of(server.get("/api/v1/workspaces/w/turns")) == R"({"turns":[],"next":null})");
  CHECK(status_of(server.get("/api/v1/workspaces/w/turns?limit=x")) == 400);
}

SCENARIO("stopping closes idle connections at once and takes no new ones") {
  server_fixture server;
  raw_client idle{server.port};
  idle.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(status_of(idle.read_until("}")) == 200);
  const auto before = std::chrono::steady_clock::now();
  server.stop(5s);
  CHECK(std::chrono::steady_clock::now() - before < 2s);
  CHECK(idle.read_all(1s).empty());
  CHECK(idle.closed_by_server());
  raw_client late{server.port};
  CHECK(late.closed_by_server());
}
