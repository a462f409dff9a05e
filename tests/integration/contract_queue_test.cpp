// The drop-in contract, Queue and cancel and Pending results.
#include "tests/integration/contract_scene.hpp"
#include "tests/support/poll_until.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <random>
#include <sstream>

using namespace tidemark;
using namespace tidemark::test;

namespace {

json take_pending(const contract_scene& stage, const std::string& workspace) {
  return stage.old.get(of(workspace, "pending-results"), "PendingResults");
}

/// Runs a task whose client leaves while it runs, until its result is pending.
void leave_pending(contract_scene& stage, const std::string& workspace, const std::string& prompt) {
  const auto before = stage.peek(workspace).at("count").get<int>();
  {
    const contract_task task(stage.old, workspace, prompt);
    stage.await_event(workspace, "turn.started");
    REQUIRE(poll_until([&] { return stage.queue_of(workspace).at("current_task").is_object(); }));
  }
  REQUIRE(poll_until([&] { return stage.peek(workspace).at("count") == before + 1; }));
}

} // namespace

SCENARIO("contract, Queue and cancel: one task of a workspace at a time, in order, and other "
         "workspaces beside it") {
  contract_scene stage;
  contract_task first(stage.old, "demo", "TOOL echo 1 >> order; while ! test -e go; do :; done",
                      "chat-1");
  REQUIRE(first.read_until("tool_call"));
  contract_task second(stage.old, "demo", "TOOL echo 2 >> order", "chat-2");
  REQUIRE(second.read_until("queued"));
  contract_task third(stage.old, "demo", "TOOL echo 3 >> order", "chat-3");
  REQUIRE(third.read_until("queued"));
  // Another workspace is not held up.
  CHECK(contract_task(stage.old, "other", "ECHO beside").finish().text == "beside");

  const auto queue = stage.queue_of("demo");
  CHECK(queue.at("current_task").at("source_chat_key") == "chat-1");
  CHECK(queue.at("queue_length") == 2);
  CHECK(queue.at("queued_tasks").at(0).at("source_chat_key") == "chat-2");
  CHECK(queue.at("queued_tasks").at(1).at("source_chat_key") == "chat-3");
  write_file(stage.server.workspace("demo") + "/go", "");
  for (auto* task : {&first, &second, &third}) {
    const auto seen = task->finish();
    CHECK(seen.faults.empty());
    CHECK(seen.succeeded());
  }
  CHECK(read_file(stage.server.workspace("demo") + "/order") == "1\n2\n3\n");
}

SCENARIO("contract, Streaming: queued comes at once when behind another task, and again only when "
         "the position changes") {
  contract_scene stage;
  contract_task running(stage.old, "demo", "WORDS 5000 10", "chat-run");
  REQUIRE(running.read_until("chunk"));
  contract_task middle(stage.old, "demo", "ECHO m");
  REQUIRE(middle.read_until("queued"));
  contract_task last(stage.old, "demo", "ECHO l");
  REQUIRE(last.read_until("queued"));
  contract_task later(stage.old, "demo", "ECHO later"); // behind it: changes no place before it
  REQUIRE(later.read_until("queued"));
  middle.leave();
  REQUIRE(poll_until([&] { return stage.queue_of("demo").at("queue_length") == 2; }));
  CHECK(stage.old.remove(of("demo", "queue/current"), "Cancel").at("cancelled") == true);
  const auto seen = last.finish();
  CHECK(seen.faults.empty());
  const auto told = seen.of("queued");
  REQUIRE(told.size() == 2);
  CHECK(told[0].at("position") == 2);
  CHECK(told[1].at("position") == 1);
  CHECK(told[0].at("current_task").at("source_chat_key") == "chat-run");
  CHECK(told[0].at("queue_length") == told[0].at("queued_count"));
  const auto after = later.finish();
  CHECK(after.faults.empty());
  CHECK(after.text == "later");
}

SCENARIO(
  "contract, Queue and cancel: DELETE answers at once, kills the whole tree, ends the stream "
  "with TASK_CANCELLED, and a second one never hits the next task") {
  contract_scene stage;
  contract_task running(stage.old, "demo", "IGNORETERM\nORPHAN 300\nWORDS 5000 10");
  REQUIRE(running.read_until("chunk"));
  std::vector<pid_t> tree;
  for (const auto& each : stage.events("demo", "types=turn.started"))
    tree.push_back(static_cast<pid_t>(int_or(object_at(data_of(each), "agent"), "pid", -1)));
  REQUIRE(poll_until([&] {
    std::istringstream words(running.so_far().text);
    running.call().read_more(v1_test::v1_call::clock::now() + std::chrono::milliseconds(50));
    std::string word;
    words >> word;
    for (pid_t pid = 0; word == "orphans" && words >> pid;)
      tree.push_back(pid);
    return tree.size() >= 4;
  }));
  contract_task next(stage.old, "demo", "TOOL while ! test -e go; do :; done");
  REQUIRE(next.read_until("queued"));
  CHECK(stage.old.remove(of("demo", "queue/current"), "Cancel").at("cancelled") == true);
  // Until the next one has begun there is nothing to cancel.
  stage.old.remove(of("demo", "queue/current"), "Cancel");
  const auto seen = running.finish();
  CHECK(seen.faults.empty());
  CHECK(seen.clean_end);
  REQUIRE(seen.error);
  CHECK(seen.error->at("error").at("code") == "TASK_CANCELLED");
  for (const auto pid : tree) {
    INFO("process " << pid);
    CHECK(poll_until([&] { return !process_alive(pid); }));
  }
  write_file(stage.server.workspace("demo") + "/go", "");
  const auto after = next.finish();
  CHECK(after.faults.empty());
  CHECK(after.succeeded());
  CHECK(stage.peek("demo").at("count") == 0); // cancelled tasks are not kept
}

SCENARIO("contract, Queue and cancel: DELETE of a task id cancels exactly that task") {
  contract_scene stage;
  contract_task running(stage.old, "demo", "WORDS 5000 10");
  REQUIRE(running.read_until("chunk"));
  contract_task waiting(stage.old, "demo", "TOOL touch must-not-exist");
  REQUIRE(waiting.read_until("queued"));
  const auto id = stage.queue_of("demo").at("queued_tasks").at(0).at("task_id").get<std::string>();
  CHECK(stage.old.remove(of("demo", "queue/" + id), "Cancel").at("cancelled") == true);
  CHECK(stage.old.remove(of("demo", "queue/" + id), "Cancel").at("cancelled") == false);
  const auto seen = waiting.finish();
  CHECK(seen.faults.empty());
  REQUIRE(seen.error);
  CHECK(seen.error->at("error").at("code") == "TASK_CANCELLED");
  CHECK(stage.queue_of("demo").at("current_task").is_object());
  const auto current = stage.queue_of("demo").at("current_task").at("task_id").get<std::string>();
  CHECK(stage.old.remove(of("demo", "queue/" + current), "Cancel").at("cancelled") == true);
  CHECK(running.finish().error.has_value());
  CHECK_FALSE(std::filesystem::exists(stage.server.workspace("demo") + "/must-not-exist"));
}

SCENARIO("contract, Pending results: the full text is kept over SIGTERM, SIGKILL and restart, "
         "offered again with the same id until it was read whole") {
  contract_scene stage;
  leave_pending(stage, "demo", "WORDS 300 1\nTOOL true\nECHO at the end");
  std::string whole;
  for (int i = 0; i < 300; ++i)
    whole += "word" + std::to_string(i) + " ";
  whole += "I will run it.\n\nat the end";
  const auto first = stage.peek("demo");
  const auto id = first.at("results").at(0).at("id");
  for (const bool by_kill : {false, true}) {
    if (by_kill)
      stage.server.kill();
    else
      CHECK(stage.server.terminate() == 0);
    stage.start_again();
    CHECK(stage.peek("demo").at("results") == first.at("results"));
  }
  // Readers that go without taking the answer.
  for (const bool by_reset : {false, true}) {
    v1_test::v1_call gone(stage.old.server(), "GET", of("demo", "pending-results"));
    gone.leave(by_reset);
  }
  json taken;
  REQUIRE(poll_until([&] {
    taken = take_pending(stage, "demo");
    return taken.at("count") == 1;
  }));
  const auto& result = taken.at("results").at(0);
  CHECK(result.at("id") == id);
  CHECK(result.at("workspace_id") == "demo");
  CHECK(result.at("is_error") == false);
  CHECK(result.at("result") == whole);
  CHECK(poll_until([&] { return stage.peek("demo").at("count") == 0; }));
  CHECK(take_pending(stage, "demo").at("count") == 0);
  CHECK(take_pending(stage, "nobody").at("count") == 0);
}

SCENARIO("contract, Pending results: failures are kept with their code and text, ?ack=false peeks, "
         "ack takes exactly what it names") {
  contract_scene stage;
  leave_pending(stage, "demo", "PAUSE 300\nERROR it broke");
  leave_pending(stage, "demo", "PAUSE 300\nECHO fine");
  const auto all = stage.peek("demo");
  REQUIRE(all.at("count") == 2);
  const auto& failure = all.at("results").at(0);
  CHECK(failure.at("is_error") == true);
  CHECK(failure.at("error_code") == "CLAUDE_CLI_ERROR_RESULT");
  CHECK(failure.at("result").get<std::string>().find("it broke") != std::string::npos);
  const auto id = failure.at("id").get<std::string>();
  const auto ack = [&](const json& ids) {
    return stage.old.post(of("demo", "pending-results/ack"), "object",
                          json::object({{"ids", ids}}).dump());
  };
  CHECK(ack(json::array({id, "nobody", id})).at("acknowledged") == json::array({id}));
  CHECK(ack(json::array({id})).at("acknowledged") == json::array());
  const auto rest = stage.peek("demo");
  REQUIRE(rest.at("count") == 1);
  CHECK(rest.at("results").at(0).at("result") == "fine");
}

SCENARIO("contract, Pending results: they expire") {
  contract_scene stage({.environment = {{"TIDEMARK_WORKSPACE_PENDING_TTL", "1s"}}});
  {
    const contract_task task(stage.old, "demo", "PAUSE 300\nECHO short-lived");
    stage.await_event("demo", "turn.started");
  }
  stage.await_event("demo", "result.pending");
  CHECK(poll_until([&] { return stage.peek("demo").at("count") == 0; }));
  CHECK(take_pending(stage, "demo").at("count") == 0);
  stage.await_event("demo", "result.delivered"); // via `expired`
}
