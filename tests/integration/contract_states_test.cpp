// Every call of the drop-in contract in every state that a workspace can be in, by a client that
// takes the contract at its word.
#include "tests/integration/contract_scene.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>
#include <memory>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// All calls that neither take nor change anything; each throws if its answer is not as it must be.
void call_everything(const contract_scene& stage, const std::string& workspace) {
  const auto& client = stage.old;
  client.get("/health", "Health");
  client.get("/api/v1/workspaces", "WorkspaceList");
  const auto info = client.get("/api/v1/workspaces/" + workspace, "WorkspaceInfo");
  CHECK((info.at("status") == "idle" || info.at("status") == "busy"));
  CHECK(info.at("path") == stage.server.workspace(workspace));
  const auto queue = stage.queue_of(workspace);
  CHECK(queue.at("queue_length") == queue.at("queued_tasks").size());
  const auto pending = stage.peek(workspace);
  CHECK(pending.at("count") == pending.at("results").size());
  CHECK(client.get("/api/v1/capabilities/tools", "Tools").at("source") == "cache");
  const auto status = client.get("/api/v1/status", "Status");
  CHECK(status.at("workspaces").at("count") == status.at("workspaces").at("ids").size());
  client.get("/api/v1/sessions", "Sessions");
  client.get("/api/v1/settings", "object");
}

json status_of(const contract_scene& stage) {
  return stage.old.get("/api/v1/workspaces/demo", "WorkspaceInfo").at("status");
}

} // namespace

SCENARIO("contract, Endpoints: every call answers in its shape, whatever the workspace does") {
  contract_scene stage;
  CHECK(contract_task(stage.old, "demo", "hello").finish().succeeded());
  INFO("idle");
  CHECK(status_of(stage) == "idle");
  call_everything(stage, "demo");

  INFO("running, with one queued");
  auto running = std::make_unique<contract_task>(stage.old, "demo", "WORDS 600 10", "chat-run");
  REQUIRE(running->read_until("chunk"));
  contract_task waiting(stage.old, "demo", "ECHO my turn", "chat-wait");
  REQUIRE(waiting.read_until("queued"));
  CHECK(status_of(stage) == "busy");
  call_everything(stage, "demo");
  const auto tools = stage.old.post("/api/v1/capabilities/tools/refresh", "Tools");
  CHECK(tools.at("source") == "probe");
  CHECK(stage.queue_of("demo").at("current_task").is_object()); // the probe did not wait for it

  INFO("running after its client left");
  running->leave();
  running.reset();
  CHECK(stage.queue_of("demo").at("current_task").at("source_chat_key") == "chat-run");
  call_everything(stage, "demo");

  INFO("cancelled");
  CHECK(stage.old.remove(of("demo", "queue/current"), "Cancel").at("cancelled") == true);
  call_everything(stage, "demo");
  const auto next = waiting.finish();
  CHECK(next.faults.empty());
  CHECK(next.text == "my turn");
  REQUIRE(poll_until([&] { return stage.is_idle("demo"); }));
  CHECK(stage.old.remove(of("demo", "queue/current"), "Cancel").at("cancelled") == false);

  INFO("restarted");
  for (const bool by_kill : {false, true}) {
    contract_task lost(stage.old, "demo", "WORDS 2000 10", "chat-lost");
    REQUIRE(lost.read_until("chunk"));
    if (by_kill)
      stage.server.kill();
    else
      CHECK(stage.server.terminate() == 0);
    const auto seen = lost.finish();
    CHECK(seen.faults.empty());
    CHECK_FALSE(seen.succeeded());
    CHECK(seen.clean_end == !by_kill);
    stage.start_again();
    call_everything(stage, "demo");
    REQUIRE(poll_until([&] { return stage.is_idle("demo"); }));
    CHECK(contract_task(stage.old, "demo", "ECHO again").finish().text == "again");
  }
  call_everything(stage, "demo");
  stage.old.post(of("demo", "session/reset"), "Reset");
  call_everything(stage, "demo");
}

SCENARIO(
  "contract, Streaming: whatever a task does, its client reads only what the contract names") {
  contract_scene stage;
  struct row {
    const char* prompt;
    bool succeeds;
    const char* text; // of a task that succeeds
  };
  const row rows[] = {
    {"ECHO a\xc2\x85"
     "b\xe2\x80\xa8"
     "c\xe2\x80\xa9"
     "d \v\f\x1c\x1d\x1e 漢字 🙂",
     true,
     "a\xc2\x85"
     "b\xe2\x80\xa8"
     "c\xe2\x80\xa9"
     "d \v\f\x1c\x1d\x1e 漢字 🙂"},
    {"TOOL printf 'x\\342\\200\\250y\\302\\205z'", true, nullptr},
    {"HUGE 300000\nECHO after", true, nullptr},
    {"UTF8", true, nullptr},
    {"NOISE\nECHO kept", true, "kept"},
    {"LOGIN", true, nullptr},
    {"RETRY 100\nECHO back", true, "back"},
    {"DIALOG", true, nullptr},
    {"ASK Read", true, nullptr},
    {"ERROR it broke", false, nullptr},
    {"MAXTURNS", false, nullptr},
    {"LIMIT", false, nullptr},
    {"OVERLOAD 10", false, nullptr},
    {"EXIT 0", false, nullptr},
    {"EXIT 3", false, nullptr},
    {"SIGNAL 9", false, nullptr},
    {"WORDS 5\nHALF 9", false, nullptr},
    {"ECHO partial\nEXIT 0", false, nullptr},
    // Last: what it says when it ends belongs to whatever task runs by then.
    {"BACKGROUND 100\nECHO bg", true, nullptr},
  };
  for (const auto& [prompt, succeeds, text] : rows) {
    contract_task task(stage.old, "demo", prompt);
    const auto seen = task.finish();
    INFO(prompt << '\n' << task.call().received());
    CHECK(seen.clean_end);
    CHECK(seen.faults.empty());
    CHECK(seen.succeeded() == succeeds);
    CHECK(seen.of("done").size() == (succeeds ? 1 : 0));
    if (text != nullptr)
      CHECK(seen.text == text);
    const auto calls = seen.of("tool_call");
    CHECK(calls.size() == seen.of("tool_result").size());
  }
}

SCENARIO("contract, Streaming: proof-of-life chunks keep a queued task and a long tool call from "
         "being given up, and silence of the model does not") {
  contract_scene stage({.environment = {{"TIDEMARK_HTTP_PROOF_OF_LIFE", "200ms"},
                                        {"TIDEMARK_HTTP_HEARTBEAT", "150ms"}}});
  const auto patience = milliseconds(1200);
  contract_task tool(stage.old, "demo", "TOOL sleep 3", "chat-1");
  REQUIRE(tool.read_until("tool_call"));
  contract_task queued(stage.old, "demo", "ECHO second", "chat-2");
  const auto first = tool.finish(patience);
  CHECK(first.faults.empty());
  CHECK_FALSE(first.gave_up);
  CHECK(first.succeeded());
  CHECK(first.text == "I will run it.\n\nDone.");
  const auto second = queued.finish(patience);
  CHECK(second.faults.empty());
  CHECK_FALSE(second.gave_up);
  CHECK(second.text == "second");
  CHECK(second.of("queued").size() == 1); // its place never changed
  CHECK(second.of("chunk").size() > 1);

  // Comments go on, chunks do not: the client gives up, and its DELETE hits this very task.
  contract_task silent(stage.old, "demo", "PAUSE 20000\nECHO too late", "chat-3");
  const auto third = silent.finish(patience);
  CHECK(third.gave_up);
  CHECK(third.of("chunk").empty());
  CHECK(silent.call().received().find(":hb") != std::string::npos);
  CHECK(poll_until([&] { return stage.is_idle("demo"); }));
  CHECK(stage.peek("demo").at("count") == 0);
}
