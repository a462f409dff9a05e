// The drop-in contract, Transport and Process duties: connections, addresses, tokens, bodies, logs.
#include "tests/integration/contract_scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/raw_client.hpp"

#include <catch2/catch.hpp>
#include <sstream>

using namespace tidemark;
using namespace tidemark::test;

namespace {

struct call {
  const char* method;
  const char* path;
};

constexpr int failed_attempts_free = 10;

/// Every path of the contract but the shells and the stream.
const call calls[] = {
  {"GET", "/health"},
  {"GET", "/api/v1/workspaces"},
  {"GET", "/api/v1/workspaces/demo"},
  {"GET", "/api/v1/workspaces/demo/queue"},
  {"DELETE", "/api/v1/workspaces/demo/queue/current"},
  {"GET", "/api/v1/workspaces/demo/pending-results"},
  {"GET", "/api/v1/capabilities/tools"},
  {"POST", "/api/v1/capabilities/tools/refresh"},
  {"GET", "/api/v1/status"},
  {"GET", "/api/v1/sessions"},
  {"GET", "/api/v1/sessions/demo"},
  {"GET", "/api/v1/settings"},
  {"POST", "/api/v1/workspaces/demo/session/reset"},
};

} // namespace

SCENARIO("contract, Transport: exact paths answer directly, an empty POST and a bare DELETE too, "
         "always with a JSON object") {
  contract_scene stage;
  CHECK(contract_task(stage.old, "demo", "hello").finish().succeeded());
  for (const auto& [method, path] : calls) {
    const auto answer = v1_test::call(stage.old.server(), method, path);
    INFO(method << ' ' << path << ": " << answer.status << ' ' << answer.body.dump());
    CHECK(answer.status == 200);
    CHECK(answer.body.is_object());
  }
  const call failing[] = {{"GET", "/api/v1/workspaces/nobody"},
                          {"GET", "/api/v1/sessions/nobody"},
                          {"GET", "/api/v1/nothing"},
                          {"PUT", "/api/v1/status"},
                          {"POST", "/api/v1/message"},
                          {"POST", "/api/v1/message/stream"},
                          {"GET", "/api/v1/workspaces/..%2Fup/queue"}};
  for (const auto& [method, path] : failing) {
    const auto answer = v1_test::call(stage.old.server(), method, path);
    INFO(method << ' ' << path << ": " << answer.status << ' ' << answer.body.dump());
    CHECK(answer.status >= 400);
    CHECK(answer.status < 500);
    CHECK(answer.body.is_object());
    const auto& why = object_at(answer.body, "error");
    CHECK_FALSE(string_or(why, "message").empty());
    // The log line of that failure carries its id.
    const auto logged = "err_id=" + string_or(why, "err_id");
    CHECK(poll_until([&] { return stage.server.output().find(logged) != std::string::npos; }));
    CHECK(string_or(why, "err_id").size() > 8);
  }
}

SCENARIO("contract, Transport: a request whose bytes come one by one, in one packet with the next, "
         "or under any Host is answered") {
  contract_scene stage;
  const auto authorised = "Authorization: bEARER " + stage.server.token() + "\r\n";
  raw_client slow(stage.old.server().port);
  const auto request = "GET /api/v1/status HTTP/1.1\r\nHost: any.example:1\r\n" + authorised
                       + "Connection: close\r\n\r\n";
  for (const char byte : request)
    slow.send({&byte, 1});
  CHECK(slow.read_all().starts_with("HTTP/1.1 200 "));
  raw_client both(stage.old.server().port);
  both.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n" + request);
  const auto answers = both.read_all();
  CHECK(answers.find("\"healthy\"", answers.find("HTTP/1.1 200", 1)) != std::string::npos);
}

SCENARIO("contract, Transport: event streams are never compressed") {
  contract_scene stage;
  for (const char* path : {"/api/v1/message/stream", "/api/v1/message"}) {
    const auto answer = stage.client.post(path, message("demo", "ECHO plain"),
                                          {{"Accept-Encoding", "gzip, deflate, br"}});
    CHECK(answer.status == 200);
    CHECK(answer.headers.count("content-encoding") == 0);
    CHECK(answer.body.find("plain") != std::string::npos);
  }
}

SCENARIO("contract, Transport: a wrong or missing token is a 401 before any side effect") {
  contract_scene stage;
  // Who has worked from an address goes on working there, whoever guesses beside it.
  CHECK(v1_test::call(stage.old.server(), "GET", "/api/v1/status").status == 200);
  int guesses = 0; // after ten from one address, each is told to wait (docs/api.md, Tokens)
  for (const std::string token : {"", "wrong", "test-tokem", "test-token2"}) {
    const v1_test::v1_address stranger{stage.old.server().port, token};
    const auto is_refusal = [&](int status) {
      guesses += token.empty() ? 0 : 1;
      return status == (guesses <= failed_attempts_free ? 401 : 429);
    };
    for (const auto& [method, path] : calls) {
      const auto answer = v1_test::call(stranger, method, path);
      INFO(method << ' ' << path);
      const auto open_to_all = std::string{path} == "/health";
      CHECK((open_to_all ? answer.status == 200 : is_refusal(answer.status)));
      CHECK(answer.body.is_object());
    }
    const auto body = message("demo", "TOOL touch must-not-exist").dump();
    for (const char* path : {"/api/v1/message", "/api/v1/message/stream"})
      CHECK(is_refusal(v1_test::call(stranger, "POST", path, body).status));
  }
  CHECK(v1_test::call(stage.old.server(), "GET", "/api/v1/workspaces/demo").status == 404);
}

SCENARIO("contract, Transport: --insecure-no-auth serves other addresses without a token, loudly") {
  server_process server(
    {.environment = {{"HOST", "0.0.0.0"}}, .arguments = {"--insecure-no-auth"}, .token = ""});
  CHECK(server.output().find("WITHOUT A TOKEN") != std::string::npos);
  CHECK(http_client(server.url(), "").get("/api/v1/status").status == 200);
}

SCENARIO("contract, Process duties: logs are lines on stderr without tokens and prompt bodies") {
  contract_scene stage;
  auto body = message("demo", "ECHO prompt-body-of-nobody's-business");
  body["env_vars"] = json::object({{"THEIR_KEY", "value-of-their-key"}});
  stage.client.post("/api/v1/message", body);
  stage.client.post("/api/v1/message", message("demo", "ERROR prompt-of-a-failure"));
  v1_test::call({stage.old.server().port, "wrong-token-of-somebody"}, "GET", "/api/v1/status");
  CHECK(stage.server.terminate() == 0);
  std::istringstream lines(stage.server.output());
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK_FALSE(line.empty());
    for (const char* secret : {"prompt-body-of", "value-of-their-key", "wrong-token-of-somebody"})
      CHECK(line.find(secret) == std::string::npos);
    CHECK(line.find(stage.server.token()) == std::string::npos);
  }
}
