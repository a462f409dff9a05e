// Who may call what: tokens with names and scopes, and what agents must not reach.
#include "tests/integration/shell_scene.hpp"
#include "tests/integration/stand_in_agent.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/webhook_receiver.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace fs = std::filesystem;

namespace {

/// What a command line prints on stdout.
std::string output_of(const std::string& line) {
  const std::unique_ptr<FILE, int (*)(FILE*)> run{::popen(line.c_str(), "r"), ::pclose};
  std::string out;
  for (int c = 0; (c = std::fgetc(run.get())) != EOF;)
    out += static_cast<char>(c);
  return out;
}

/// A tokens file that is kept by the command line, as an operator does it.
struct tokens_file {
  temp_dir directory;
  [[nodiscard]] std::string path() const { return directory / "tokens.json"; }

  /// What `tidemark token <words>` prints on stdout, without the line's end.
  [[nodiscard]] std::string command(const std::string& words) const {
    const auto out = output_of("env -i " + program("tidemark") + " token " + words
                               + " --http-tokens-file " + path() + " 2>/dev/null");
    return out.substr(0, out.find_last_not_of('\n') + 1);
  }
  [[nodiscard]] std::string create(const std::string& name, const std::string& scopes) const {
    return command("create " + name + " --scope " + scopes);
  }
  [[nodiscard]] server_options serving() const {
    return {.environment = {{"TIDEMARK_HTTP_TOKENS_FILE", path()}}, .token = ""};
  }
};

int status_with(const scene& stage, const std::string& token, const http_call& call) {
  auto with = call;
  with.headers["Authorization"] = "Bearer " + token;
  return stage.client.send(with).status;
}

http_call looking(const std::string& path) {
  return {.path = path};
}

} // namespace

SCENARIO("shells are for the scope admin, and a shell of a revoked token is let go of") {
  const tokens_file tokens;
  const auto writer = tokens.create("bot", "read,write");
  const auto admin = tokens.create("ops", "admin");
  auto serving = tokens.serving();
  serving.environment["TIDEMARK_HTTP_HEARTBEAT"] = "500ms";
  const scene stage(serving);
  const http_call open{.method = "POST", .path = shells_path, .body = "{}"};
  CHECK(status_with(stage, writer, open) == 403);
  CHECK(status_with(stage, writer, looking(shells_path)) == 403);
  http_call call = open;
  call.headers["Authorization"] = "Bearer " + admin;
  const auto id = string_or(stage.client.send(call).parsed(), "id");
  REQUIRE(!id.empty());
  const auto path = shells_path + "/" + id + "/ws?token=";
  const ws_client other(stage.client, path + writer);
  CHECK(other.wait_for_end());
  CHECK(other.close_code() == 1008);
  CHECK_THAT(other.close_reason(), Catch::Contains("lacks the scope \"admin\""));
  const ws_client client(stage.client, path + admin);
  CHECK_FALSE(client.wait_for("ready").is_null());
  (void) tokens.command("revoke ops");
  CHECK(client.wait_for_end());
  CHECK(client.close_code() == 1008);
  CHECK_THAT(client.close_reason(), Catch::Contains("revoked"));
}

SCENARIO("tokens open what their scopes say, and nothing else") {
  const tokens_file tokens;
  const auto reader = tokens.create("auditor", "read");
  const auto writer = tokens.create("bot", "write");
  const auto admin = tokens.create("ops", "admin");
  REQUIRE(reader.starts_with("tmk_"));
  const scene stage(tokens.serving());
  const http_call submit{
    .method = "POST", .path = of("demo", "turns"), .body = R"({"prompt":"ECHO hi"})"};
  const http_call provider{.method = "PUT",
                           .path = "/api/v1/settings/providers/x",
                           .body = R"({"base_url":"http://127.0.0.1:1"})"};

  CHECK(stage.client.get("/health").status == 200);
  CHECK(stage.client.get("/metrics").status == 401);
  CHECK(status_with(stage, "tmk_wrong", looking("/metrics")) == 401);
  CHECK(status_with(stage, reader, submit) == 403);
  CHECK(status_with(stage, reader, looking(of("demo", "events"))) == 404); // nothing was made
  CHECK(status_with(stage, writer, submit) == 202);
  CHECK(status_with(stage, writer, looking(of("demo", "events"))) == 403);
  CHECK(status_with(stage, reader, looking(of("demo", "events"))) == 200);
  CHECK(status_with(stage, reader, looking(of("demo", "pending-results"))) == 403); // takes them
  CHECK(status_with(stage, reader, provider) == 403);
  CHECK(status_with(stage, writer, provider) == 403);
  CHECK(status_with(stage, admin, provider) == 200);
  CHECK(status_with(stage, admin, submit) == 202);
  CHECK(status_with(stage, reader, looking("/nowhere")) == 404);
  for (const auto& secret : {reader, writer, admin})
    CHECK(stage.server.output().find(secret) == std::string::npos);
  CHECK(read_file(tokens.path()).find(reader) == std::string::npos);
}

SCENARIO("the token's name stands in the events of what it asked for") {
  const tokens_file tokens;
  const auto bot = tokens.create("bot", "read,write");
  const auto ops = tokens.create("ops", "admin");
  scene stage(tokens.serving());
  stage.client = http_client(stage.server.url(), bot);
  const auto turn = stage.submit("demo", "PAUSE 60000");
  stage.await_event("demo", "turn.started", turn);
  stage.client = http_client(stage.server.url(), ops);
  CHECK(stage.client.remove(of("demo", "turns/" + turn)).status == 200);
  CHECK(stage.client.post(of("demo", "session/reset")).status == 200);
  CHECK(string_or(data_of(stage.await_event("demo", "turn.queued", turn)), "by") == "bot");
  const auto completed = stage.completion("demo", turn);
  CHECK(outcome_of(completed) == "cancelled");
  CHECK(string_or(data_of(completed), "by") == "ops");
  CHECK(string_or(data_of(stage.await_event("demo", "session.reset")), "by") == "ops");

  stage.client = http_client(stage.server.url(), bot);
  {
    sse_reader left(stage.client, message_stream_path,
                    message_stream("demo", "PAUSE 1500\nECHO x"));
    REQUIRE(left.wait_for_status());
    REQUIRE(poll_until([&] { return count_of(stage.events("demo"), "turn.started") == 2; }));
  } // its client leaves
  stage.await_event("demo", "result.pending");
  CHECK(stage.client.get(of("demo", "pending-results")).parsed().at("count") == 1);
  CHECK(string_or(data_of(stage.await_event("demo", "result.delivered")), "by") == "bot");
}

SCENARIO("who may only read sees what waits for a person and decides nothing; the one who decides "
         "is named") {
  const tokens_file tokens;
  const auto reader = tokens.create("auditor", "read");
  const auto ann = tokens.create("ann", "read,write");
  auto serving = tokens.serving();
  serving.environment["TIDEMARK_PERMISSIONS_ASK"] = "all";
  scene stage(serving);
  stage.client = http_client(stage.server.url(), ann);
  const auto turn = stage.submit("demo", "TOOL true");
  const auto asked = stage.await_event("demo", "permission.requested", turn);
  const auto path = of("demo", "permissions");
  const http_call allow{.method = "POST",
                        .path = path + "/" + string_or(data_of(asked), "permission"),
                        .body = R"({"decision":"allow"})"};
  CHECK(status_with(stage, reader, looking(path)) == 200);
  CHECK(status_with(stage, reader, looking("/api/v1/permissions")) == 200);
  CHECK(status_with(stage, reader, allow) == 403);
  CHECK(status_with(stage, reader, {.method = "DELETE", .path = path + "/rules/rule-1"}) == 403);
  CHECK(status_with(stage, "tmk_wrong", allow) == 401);
  CHECK(status_with(stage, ann, allow) == 200);
  CHECK(outcome_of(stage.completion("demo", turn)) == "succeeded");
  CHECK(string_or(data_of(stage.await_event("demo", "permission.resolved", turn)), "by") == "ann");
}

SCENARIO("tokens are changed without a restart, and an open stream ends with its token") {
  const tokens_file tokens;
  const auto before = tokens.create("reader", "read");
  auto how = tokens.serving();
  how.environment["TIDEMARK_HTTP_HEARTBEAT"] = "300ms";
  how.token = "internal-token";
  scene stage(how);
  stage.run("demo", "ECHO hi");
  const sse_reader stream(http_client(stage.server.url(), before), of("demo", "events"));
  REQUIRE(stream.wait_for("turn.completed"));
  const auto id = tokens.command("list");
  const auto after = tokens.create("reader", "read");
  const auto events = looking(of("demo", "events"));
  CHECK(poll_until([&] { return status_with(stage, after, events) == 200; }));
  CHECK(status_with(stage, before, events) == 200); // both, until the old one is revoked
  const auto old_id = id.substr(id.find_first_not_of(' ', std::string("reader").size()), 12);
  (void) tokens.command("revoke " + old_id);
  CHECK(poll_until([&] { return status_with(stage, before, events) == 401; }));
  CHECK(status_with(stage, after, events) == 200);
  CHECK(stream.wait_for_end());
  CHECK_FALSE(stream.ended_properly());
  CHECK(stream.raw().find(R"("code":"unauthorized")") != std::string::npos);
}

SCENARIO("an address that guesses tokens is slowed down, one that works there is not") {
  scene stage({.token = "the-right-one"});
  CHECK(stage.client.get("/ready").status == 200);
  int guesses = 0;
  while (guesses < 40
         && status_with(stage, "guess-" + std::to_string(guesses), looking("/ready")) == 401)
    ++guesses;
  CHECK(guesses >= 10);
  CHECK(guesses < 40);
  const auto refused =
    stage.client.send({.path = "/ready", .headers = {{"Authorization", "Bearer guess"}}});
  CHECK(refused.status == 429);
  CHECK(refused.headers.count("retry-after") == 1);
  CHECK(bool_or(object_at(refused.parsed(), "error"), "retryable", false));
  CHECK(stage.client.get("/ready").status == 200);
  CHECK(stage.client.get("/metrics")
          .body.find("tidemark_http_limit_hits_total{limit=\"failed_attempts\"}")
        != std::string::npos);
}

SCENARIO("doctor asks a running server with TIDEMARK_TOKEN, as the other commands do") {
  const tokens_file tokens;
  const auto reader = tokens.create("looking", "read");
  const scene stage(tokens.serving());
  const auto port = stage.server.url().substr(stage.server.url().rfind(':') + 1);
  const auto doctor = [&](const std::string& token) {
    return output_of("env -i TIDEMARK_AGENT=demo TIDEMARK_DATA_DIR=" + stage.server.path("data")
                     + " TIDEMARK_HTTP_TOKENS_FILE=" + tokens.path() + " PORT=" + port
                     + " TIDEMARK_TOKEN=" + token + " " + program("tidemark")
                     + " doctor 2>/dev/null");
  };
  const auto admitted = doctor(reader);
  INFO(admitted);
  CHECK(admitted.find("served by the running server") != std::string::npos);
  const auto refused = doctor("a-wrong-one");
  INFO(refused);
  CHECK(refused.find("wants another token") != std::string::npos);
}

SCENARIO("a server whose tokens file is missing or broken does not start, and says why") {
  const tokens_file tokens;
  CHECK_THROWS_WITH(server_process(tokens.serving()), Catch::Contains("tidemark token create"));
  write_file(tokens.path(), R"({"tokens":[{"name":"x"}]})");
  CHECK_THROWS_WITH(server_process(tokens.serving()), Catch::Contains("entry 1"));
}

SCENARIO("B77: a workspace whose directory was made a link leads nowhere") {
  scene stage;
  CHECK(outcome_of(stage.run("demo", "ECHO hi")) == "succeeded");
  const auto elsewhere = stage.server.path("elsewhere");
  fs::create_directories(elsewhere);
  fs::remove_all(stage.server.workspace("demo"));
  fs::create_symlink(elsewhere, stage.server.workspace("demo"));
  for (const auto* workspace : {"demo", "fresh"}) {
    INFO(workspace);
    fs::remove_all(stage.server.workspace("fresh"));
    fs::create_symlink(elsewhere, stage.server.workspace("fresh"));
    const auto completed = stage.run(workspace, "TOOL touch made-here");
    CHECK(outcome_of(completed) == "failed");
    CHECK(string_or(object_at(data_of(completed), "error"), "code") == "WORKSPACE_DIRECTORY_LINK");
  }
  CHECK(fs::is_empty(elsewhere));
  CHECK(stage.client.get(of("demo", "events")).status == 200);
  fs::remove(stage.server.workspace("demo"));
  CHECK(outcome_of(stage.run("demo", "ECHO again")) == "succeeded");
}

SCENARIO(
  "neighbour of B77: a pipe or a device in the place of a workspace's file holds nobody up") {
  scene stage;
  CHECK(outcome_of(stage.run("demo", "ECHO hi")) == "succeeded");
  const auto file = stage.server.workspace("demo") + "/.mcp.json";
  REQUIRE(::system(("mkfifo " + file).c_str()) == 0);
  CHECK(outcome_of(stage.run("demo", "ECHO 1")) == "failed");
  fs::remove(file);
  fs::create_symlink("/dev/zero", file);
  CHECK(outcome_of(stage.run("demo", "ECHO 2")) == "failed");
  fs::remove(file);
  CHECK(outcome_of(stage.run("demo", "ECHO 3")) == "succeeded");
}

SCENARIO("a webhook's URL is whole for who may set it, and a scheme and a host for all others") {
  const tokens_file tokens;
  const auto admin = tokens.create("ops", "admin");
  const auto reader = tokens.create("auditor", "read,write");
  webhook_receiver receiver;
  receiver.answer_with(410);
  auto how = tokens.serving();
  how.environment["TIDEMARK_WEBHOOKS_ALLOW_PRIVATE"] = "true";
  scene stage{how};
  const http_client as_admin{stage.server.url(), admin};
  const http_client as_reader{stage.server.url(), reader};
  const auto url = receiver.url() + "/T0KEN-of-the-path?key=K3Y";
  as_admin.post(of("demo", "turns"), json::object({{"prompt", "hello"}}));
  REQUIRE(poll_until([&] { return as_admin.get(of("demo", "events")).status == 200; }));
  auto body = json::object({{"url", url}});
  const auto made = as_admin.send({.method = "PUT",
                                   .path = of("demo", "webhooks/hook"),
                                   .body = dump_json(body),
                                   .headers = {{"Content-Type", "application/json"}}});
  REQUIRE(made.status == 201);
  REQUIRE(poll_until([&] {
    return as_reader.get(of("demo", "events")).body.find("webhook.dead") != std::string::npos;
  }));
  for (const auto* path : {"webhooks", "webhooks/hook", "consumers", "consumers/hook"}) {
    INFO(path);
    CHECK(as_admin.get(of("demo", path)).body.find(url) != std::string::npos);
    const auto masked = as_reader.get(of("demo", path));
    CHECK(masked.status == 200);
    CHECK(masked.body.find("T0KEN") == std::string::npos);
    CHECK(masked.body.find("K3Y") == std::string::npos);
    CHECK(masked.body.find(url.substr(0, url.find("/hook")) + "/…\"") != std::string::npos);
  }
  for (const auto* path : {"/metrics", "/api/v1/events?raw=true"})
    CHECK(as_admin.get(path).body.find("T0KEN") == std::string::npos);
  CHECK(stage.server.output().find("T0KEN") == std::string::npos);
}
