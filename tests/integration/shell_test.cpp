// Shells by the drop-in contract: opened over REST, used over a WebSocket.
#include "tests/integration/shell_scene.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/small_disk.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

using namespace tidemark;
using namespace tidemark::test;

namespace {

/// The ErrorInfo of an answer.
json error_of(const http_reply& reply) {
  INFO("answer " << reply.status << ": " << reply.body);
  const json body = reply.parsed();
  REQUIRE(body.is_object());
  return object_at(body, "error");
}

} // namespace

SCENARIO("contract, Shell: a shell is opened, used and ends") {
  const scene stage;
  const http_reply opened = stage.client.post(
    shells_path,
    json::object({{"workspace_id", "demo"}, {"argv", json::array({"/bin/bash", "-l"})}}));
  REQUIRE(opened.status == 200);
  const std::string id = string_or(opened.parsed(), "id");
  const auto listed = list_shells(stage);
  REQUIRE(listed.size() == 1);
  const json& item = listed.front();
  CHECK(item["id"] == id);
  CHECK(item["workspace_id"] == "demo");
  CHECK(item["cwd"] == std::filesystem::canonical(stage.server.workspace("demo")).string());
  CHECK(item["argv"] == json::array({"/bin/bash", "-l"}));
  CHECK(process_alive(static_cast<pid_t>(int_or(item, "pid", 0))));
  CHECK(string_or(item, "created_at").size() == 24);
  CHECK(string_or(item, "last_active").size() == 24);

  const auto client = attach(stage, id);
  client->type("echo sum $((40 + 2)); pwd\r");
  CHECK(client->wait_for_output("sum 42\r\n"));
  CHECK(client->wait_for_output("\r\n" + string_or(item, "cwd") + "\r\n"));
  client->type("exit 3\r");
  const json end = client->wait_for("exit");
  CHECK(int_or(end, "code", -1) == 3);
  CHECK(client->wait_for_end());
  CHECK(client->close_code() == 1000);
  CHECK(client->fault() == "");
  CHECK(list_shells(stage).empty());
  const json closed = closing_of(stage, "demo", id);
  CHECK(string_or(closed, "reason") == "program");
  CHECK(int_or(object_at(closed, "exit"), "code", -1) == 3);
}

SCENARIO("a shell is in the log before its client hears of it, in a workspace made for it") {
  const scene stage;
  const std::string id = open_shell(stage, "fresh");
  const auto events = stage.events("fresh");
  REQUIRE(events.size() == 2);
  CHECK(string_or(events[0], "type") == "workspace.created");
  CHECK(string_or(events[1], "type") == "shell.opened");
  const json& data = data_of(events[1]);
  CHECK(string_or(data, "shell") == id);
  CHECK(array_at(data, "argv") == json::array({"/bin/bash", "--norc"}));
  CHECK(string_or(data, "by") == "internal");
  CHECK(stage.client.get("/api/v1/workspaces/fresh").status == 200);
}

SCENARIO("contract, Shell: what cannot be opened says why, and leaves nothing") {
  const scene stage(
    {.environment = {{"TIDEMARK_SHELL_MAX", "2"}, {"TIDEMARK_SHELL_MAX_PER_WORKSPACE", "1"}}});
  const auto refused = [&](const json& body) { return stage.client.post(shells_path, body); };
  http_reply reply = refused(json::object({{"argv", json::array({"/no/such/program"})}}));
  CHECK(reply.status == 400);
  CHECK(string_or(error_of(reply), "code") == "INVALID_REQUEST");
  CHECK(string_or(error_of(reply), "message").find("/no/such/program") != std::string::npos);
  CHECK(string_or(error_of(reply), "message").find("No such file") != std::string::npos);
  reply = refused(json::object({{"rows", 0}}));
  CHECK(reply.status == 400);
  CHECK(string_or(error_of(reply), "message").find("rows") != std::string::npos);
  CHECK(refused(json::object({{"argv", json::array()}})).status == 400);
  CHECK(refused(json::object({{"workspace_id", "../x"}})).status == 400);
  CHECK(stage.client.get(of("default", "events")).status == 404);

  open_shell(stage, "one");
  reply = refused(json::object({{"workspace_id", "one"}}));
  CHECK(reply.status == 503);
  CHECK(string_or(error_of(reply), "code") == "SHELL_MANAGER_UNAVAILABLE");
  CHECK(string_or(error_of(reply), "message").find("shell.max_per_workspace") != std::string::npos);
  const std::string second = open_shell(stage, "two");
  reply = refused(json::object({{"workspace_id", "three"}}));
  CHECK(reply.status == 503);
  CHECK(string_or(error_of(reply), "message").find("shell.max)") != std::string::npos);
  CHECK(stage.client.remove(shells_path + "/" + second).status == 200);
  open_shell(stage, "three");
}

SCENARIO("contract, Shell: DELETE ends a shell with all that it started") {
  const scene stage;
  const std::string id =
    open_script(stage, "demo", "trap '' HUP; setsid sleep 600 & echo ready; sleep 600");
  const auto client = attach(stage, id);
  REQUIRE(client->wait_for_output("ready"));
  const pid_t pid = pid_of(stage, id);
  REQUIRE(process_alive(pid));
  const http_reply reply = stage.client.remove(shells_path + "/" + id);
  CHECK(reply.status == 200);
  CHECK(string_or(reply.parsed(), "status") == "ok");
  CHECK_FALSE(process_alive(pid));
  CHECK(string_or(client->wait_for("exit"), "reason") == "client");
  CHECK(string_or(closing_of(stage, "demo", id), "reason") == "client");
  const http_reply again = stage.client.remove(shells_path + "/" + id);
  CHECK(again.status == 404);
  CHECK(string_or(error_of(again), "code") == "SHELL_SESSION_NOT_FOUND");
}

SCENARIO("contract, Shell: the socket closing destroys the shell") {
  const scene stage;
  const auto how = GENERATE(ws_client::farewell::close_frame, ws_client::farewell::fin,
                            ws_client::farewell::reset);
  const std::string id = open_shell(stage, "demo");
  const auto client = attach(stage, id);
  const pid_t pid = pid_of(stage, id);
  client->leave(how);
  CHECK(string_or(closing_of(stage, "demo", id), "reason") == "disconnect");
  CHECK_FALSE(process_alive(pid));
  CHECK(list_shells(stage).empty());
}

SCENARIO("contract, Shell: a client closes the shell, also one that is kept") {
  const scene stage;
  const std::string id = open_shell(stage, "demo");
  const auto client = attach(stage, id, "?keep=true");
  client->send(json::object({{"type", "close"}}));
  CHECK_FALSE(client->wait_for("exit").is_null());
  CHECK(client->wait_for_end());
  CHECK(string_or(closing_of(stage, "demo", id), "reason") == "client");
}

SCENARIO("contract, Shell: strangers and unknown shells get close code 1008") {
  const scene stage;
  const std::string id = open_shell(stage, "demo");
  const std::string path = shells_path + "/" + id + "/ws";
  const auto code_of = [&](const std::string& target, ws_client::options how) {
    ws_client client(stage.client, target, std::move(how));
    CHECK(client.status() == 101);
    CHECK(client.wait_for_end());
    CHECK(client.all().empty());
    CHECK_FALSE(client.close_reason().empty());
    return client.close_code();
  };
  CHECK(code_of(path, {.with_token = false}) == 1008);
  CHECK(code_of(path + "?token=wrong", {.with_token = false}) == 1008);
  CHECK(code_of(path + "?token=test-token", {.headers = {{"Authorization", "Bearer wrong"}}})
        == 1008);
  CHECK(code_of(shells_path + "/unknown/ws", {}) == 1008);
  CHECK(process_alive(pid_of(stage, id)));
  const auto client = attach(stage, id, "?token=test-token", {.with_token = false});
  client->type("echo by $((1 + 1))\r");
  CHECK(client->wait_for_output("by 2"));
  CHECK(stage.client.get(shells_path + "/" + id + "/ws").status == 426);
}

SCENARIO("B76: pages of other origins reach no shell, and no token is printed") {
  const scene stage(
    {.environment = {{"TIDEMARK_SERVER_LOG_LEVEL", "debug"}}, .token = "secret-of-shell"});
  const std::string id = open_shell(stage, "demo");
  const std::string path = shells_path + "/" + id + "/ws?token=secret-of-shell";
  for (const auto& [name, value] : std::map<std::string, std::string>{
         {"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}}) {
    const ws_client page(stage.client, path, {.headers = {{name, value}}});
    CHECK(page.status() == 403);
    const auto reply = stage.client.send({.method = "POST",
                                          .path = shells_path,
                                          .body = R"({"workspace_id":"evil"})",
                                          .headers = {{name, value}}});
    CHECK(reply.status == 403);
    CHECK(stage.client
            .send({.method = "DELETE", .path = shells_path + "/" + id, .headers = {{name, value}}})
            .status
          == 403);
  }
  const auto own = stage.server.url();
  const ws_client page(stage.client, path, {.headers = {{"Origin", own}}, .with_token = false});
  CHECK(page.status() == 101);
  CHECK_FALSE(page.wait_for("ready").is_null());
  CHECK(stage.client.get(of("evil", "events")).status == 404);
  CHECK(stage.server.output().find("secret-of-shell") == std::string::npos);

  const scene open({.token = ""});
  const std::string other = open_shell(open, "demo");
  const ws_client rebound(open.client, shells_path + "/" + other + "/ws",
                          {.headers = {{"Host", "evil.example"}}});
  CHECK(rebound.status() == 403);
  CHECK(process_alive(pid_of(open, other)));
}

SCENARIO("B77: a shell sees nothing of the server's secrets") {
  scene stage({.environment = {{"ADMIN_TOKEN", "secret-of-admin"},
                               {"DATABASE_URL", "secret-of-db"},
                               {"TIDEMARK_AGENT_ENV", "PASSED"},
                               {"PASSED", "on"}}});
  const std::string id = open_script(stage, "demo",
                                     "env; cat /proc/$PPID/environ | tr '\\0' '\\n'; "
                                     "echo over; sleep 60");
  const auto client = attach(stage, id);
  REQUIRE(client->wait_for_output("over"));
  const std::string seen = client->output();
  CHECK(seen.find("secret-of") == std::string::npos);
  CHECK(seen.find("test-token") == std::string::npos);
  CHECK(seen.find("TERM=xterm-256color\r\n") != std::string::npos);
  CHECK(seen.find("PASSED=on\r\n") != std::string::npos);
  CHECK(seen.find("HOME=" + stage.server.path("home") + "\r\n") == std::string::npos);
}

SCENARIO("shells can be switched off") {
  const scene stage({.environment = {{"TIDEMARK_SHELL_ENABLED", "false"}}});
  const http_reply reply = stage.client.post(shells_path);
  CHECK(reply.status == 503);
  CHECK(string_or(error_of(reply), "code") == "SHELL_MANAGER_UNAVAILABLE");
  CHECK(string_or(error_of(reply), "message").find("shell.enabled") != std::string::npos);
  CHECK(stage.client.get(shells_path).status == 503);
}

SCENARIO(
  "the end of a shell that the full log does not take is stored as it was, once there is room") {
  const small_disk disk;
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  const scene stage({.environment = {{"TIDEMARK_DATA_DIR", (disk.path() / "data").string()},
                                     {"TIDEMARK_LOG_MIN_FREE", "8MiB"}}});
  const std::string id = open_shell(stage, "demo");
  const auto client = attach(stage, id, "?keep=true");
  const auto ballast = disk.path() / "ballast";
  const auto free = std::filesystem::space(disk.path()).available;
  write_file(ballast, std::string(free - (4U << 20), '.'));
  REQUIRE(poll_until([&] { return stage.client.get("/ready").status == 503; }));
  CHECK(stage.client.remove(shells_path + "/" + id).status == 200); // its client need not wait
  CHECK(list_shells(stage).empty());

  std::filesystem::remove(ballast);
  const json closed = closing_of(stage, "demo", id);
  CHECK(string_or(closed, "reason") == "client");
  CHECK(string_or(closed, "by") != "");
  CHECK(count_of(stage.events("demo"), "shell.closed") == 1);
}
