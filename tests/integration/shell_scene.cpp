#include "tests/integration/shell_scene.hpp"

#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>

namespace tidemark::test {

std::string open_shell(const scene& stage, const std::string& workspace,
                       const std::vector<std::string>& argv) {
  const http_reply reply = stage.client.post(
    shells_path,
    json::object({{"workspace_id", workspace}, {"argv", argv}, {"rows", 24}, {"cols", 80}}));
  INFO("the server printed:\n" << stage.server.output());
  INFO("answer " << reply.status << ": " << reply.body);
  REQUIRE(reply.status == 200);
  return string_or(reply.parsed(), "id");
}

std::string open_script(const scene& stage, const std::string& workspace,
                        const std::string& script) {
  return open_shell(stage, workspace, {"/bin/sh", "-c", script});
}

std::unique_ptr<ws_client> attach(const scene& stage, const std::string& shell,
                                  const std::string& query, ws_client::options how) {
  const bool hears = how.reads;
  auto client = std::make_unique<ws_client>(stage.client, shells_path + "/" + shell + "/ws" + query,
                                            std::move(how));
  INFO("the server printed:\n" << stage.server.output());
  REQUIRE(client->status() == 101);
  if (hears) {
    REQUIRE(string_or(client->wait_for("ready"), "id") == shell);
  }
  return client;
}

std::vector<json> list_shells(const scene& stage) {
  const json reply = stage.client.get(shells_path).parsed();
  return array_at(reply, "shells").get<std::vector<json>>();
}

pid_t pid_of(const scene& stage, const std::string& shell) {
  for (const json& each : list_shells(stage)) {
    if (string_or(each, "id") == shell) {
      return static_cast<pid_t>(int_or(each, "pid", 0));
    }
  }
  return 0;
}

json closing_of(const scene& stage, const std::string& workspace, const std::string& shell) {
  json found;
  const auto came = poll_until([&] {
    for (const json& e : stage.events(workspace, "types=shell.closed")) {
      if (string_or(data_of(e), "shell") == shell) {
        found = data_of(e);
      }
    }
    return !found.is_null();
  });
  INFO("the server printed:\n" << stage.server.output());
  REQUIRE(came);
  return found;
}

} // namespace tidemark::test
