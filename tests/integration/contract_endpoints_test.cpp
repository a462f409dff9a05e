// The drop-in contract, Endpoints: requests at their limits, and what the answers say.
#include "tests/integration/contract_scene.hpp"
#include "tests/support/contract_shapes.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

using namespace tidemark;
using namespace tidemark::test;

namespace {

v1_test::v1_answer send(const contract_scene& stage, const std::string& body) {
  return v1_test::call(stage.old.server(), "POST", "/api/v1/message", body);
}

} // namespace

SCENARIO("contract, Endpoints: health is healthy as soon as work can be accepted") {
  contract_scene stage;
  for (int life = 0; life < 3; ++life) {
    stage.old.get("/health", "Health");
    const auto answer = send(stage, message("demo", "ECHO at once").dump());
    CHECK(answer.status == 200);
    CHECK(contract_fault(answer.body, "MessageResponse").empty());
    CHECK(answer.body.at("success") == true);
    if (life == 1)
      stage.submit("demo", "WORDS 1000 10"); // left behind for the next life
    stage.server.kill();
    stage.start_again();
  }
}

SCENARIO("contract, Endpoints: workspace ids are checked to the letter, and made on first use") {
  contract_scene stage;
  const auto body = [](const std::string& id) { return message(id, "ECHO x").dump(); };
  for (const auto& good : {std::string(128, 'a'), std::string("_"), std::string("-x"),
                           std::string("a..b"), std::string("A.b_C-9")}) {
    INFO(good);
    const auto answer = send(stage, body(good));
    CHECK(answer.status == 200);
    CHECK(answer.body.at("success") == true);
    CHECK(std::filesystem::is_directory(stage.server.workspace(good)));
  }
  for (const auto& bad :
       {std::string(129, 'a'), std::string(), std::string("."), std::string(".."),
        std::string(".hidden"), std::string("a/b"), std::string("a b"), std::string("a\n"),
        std::string("a%"), std::string("ä"), std::string("a\u202e"), std::string("a\0b", 3),
        std::string("\u2024\u2024")}) {
    INFO(bad);
    const auto answer = send(stage, body(bad));
    CHECK((answer.status == 400 || answer.status == 422));
    CHECK(contract_fault(answer.body, "Error").empty());
    const auto inquiry = v1_test::call(stage.old.server(), "GET", of(url_encode(bad), "queue"));
    CHECK(inquiry.status >= 400);
    CHECK(inquiry.status < 500);
  }
  CHECK(stage.old.get("/api/v1/workspaces", "WorkspaceList").at("workspaces").size() == 5);
}

SCENARIO("contract, Endpoints: failures of a message are a 200 with success false, an ErrorInfo of "
         "the contract, and a log line with its err_id") {
  contract_scene stage;
  const std::pair<const char*, const char*> rows[] = {
    {"ERROR it broke", "CLAUDE_CLI_ERROR_RESULT"},
    {"EXIT 0", "CLAUDE_CLI_NO_PARSEABLE_OUTPUT"},
    {"TOOL true\nEXIT 0", "NO_RESULT"},
  };
  for (const auto& [prompt, code] : rows) {
    INFO(prompt);
    const auto answer = send(stage, message("demo", prompt).dump());
    INFO(answer.body.dump());
    CHECK(answer.status == 200);
    CHECK(contract_fault(answer.body, "MessageResponse").empty());
    CHECK(answer.body.at("success") == false);
    CHECK(answer.body.at("error").at("code") == code);
    const auto id = answer.body.at("error").at("err_id").get<std::string>();
    CHECK(
      poll_until([&] { return stage.server.output().find("err_id=" + id) != std::string::npos; }));
  }
  const auto unknown = v1_test::call(stage.old.server(), "GET", "/api/v1/workspaces/nobody");
  CHECK(unknown.status == 404);
  CHECK(contract_fault(unknown.body, "Error").empty());
  CHECK(unknown.body.at("error").at("code") == "WORKSPACE_NOT_FOUND");
}

SCENARIO(
  "contract, Endpoints: a preview is the first 80 characters on one line, whatever they are") {
  contract_scene stage;
  std::string prompt = "SLOW 60000\r\n";
  std::string preview = "SLOW 60000  ";
  for (int i = 0; i < 100; ++i) {
    prompt += i % 2 == 0 ? "字" : "🙂";
    preview += i >= 68 ? "" : i % 2 == 0 ? "字" : "🙂";
  }
  contract_task running(stage.old, "demo", prompt, "chat \"quoted\" \\ 字\u2028");
  REQUIRE(poll_until([&] { return stage.queue_of("demo").at("current_task").is_object(); }));
  const auto task = stage.queue_of("demo").at("current_task");
  CHECK(task.at("prompt_preview") == preview);
  CHECK(task.at("source_chat_key") == "chat \"quoted\" \\ 字\u2028");
}

SCENARIO(
  "contract, Endpoints: variables of a task are not shown in the queue, the events and the log") {
  contract_scene stage;
  auto body = message("demo", "TOOL echo \"got $SECRET_OF_TASK\"; while ! test -e go; do :; done");
  body["env_vars"] = json::object({{"SECRET_OF_TASK", "never-to-be-seen"}});
  v1_test::v1_call running(stage.old.server(), "POST", message_stream_path, body.dump());
  REQUIRE(running.read_until("tool_call"));
  auto waiting_body = message("demo", "ECHO x");
  waiting_body["env_vars"] = body["env_vars"];
  v1_test::v1_call waiting(stage.old.server(), "POST", message_stream_path, waiting_body.dump());
  REQUIRE(waiting.read_until("queued"));
  const auto shown = stage.queue_of("demo").dump() + stage.client.get("/api/v1/workspaces").body
                     + stage.client.get("/api/v1/workspaces/demo").body;
  write_file(stage.server.workspace("demo") + "/go", "");
  running.read_all();
  waiting.read_all();
  const auto all = shown + running.received() + waiting.received()
                   + stage.client.get(of("demo", "events?raw=true&limit=1000")).body
                   + stage.client.get(of("demo", "turns")).body + stage.server.output();
  CHECK(running.received().find("got ") != std::string::npos);
  CHECK(all.find("never-to-be-seen") == std::string::npos);
}

SCENARIO("contract, Streaming: U+0000 and lone surrogates never appear in a chunk") {
  contract_scene stage;
  const temp_dir directory;
  const std::string file = directory / "odd.jsonl";
  const auto message_line = [](const std::string& text) {
    return R"({"type":"assistant","session_id":"s-odd","message":{"id":"m1","role":"assistant",)"
           R"("content":[{"type":"text","text":")"
           + text + R"("}]}})" + "\n";
  };
  const std::string odd = R"(a\u0000b\ud800c\udfffd\ud83d\ude42e)";
  write_file(file, R"({"type":"system","subtype":"init","session_id":"s-odd","tools":[]})"
                   "\n"
                     + message_line(odd)
                     + R"({"type":"result","subtype":"success","is_error":false,"result":")" + odd
                     + R"(","session_id":"s-odd","usage":{},"permission_denials":[]})" + "\n");
  contract_task task(stage.old, "demo", "REPLAY " + file);
  const auto seen = task.finish();
  INFO(task.call().received());
  CHECK(seen.faults.empty());
  CHECK(seen.succeeded());
  CHECK(seen.text == "ab\uFFFDc\uFFFDd🙂e");
  CHECK(task.call().received().find("\\u0000") == std::string::npos);
  CHECK(task.call().received().find("\\ud8") == std::string::npos);
}
