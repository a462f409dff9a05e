// How turns end when something ends them: each item once, before its turn's end, with its text; and
// readers that follow a server which stops get all of it.
#include "tests/integration/scene.hpp"
#include "tests/support/poll_until.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include <csignal>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

using namespace tidemark;
using namespace tidemark::test;
using std::chrono::seconds;

namespace {

/// Every item that starts is completed once, before the end of its turn, with the text of its deltas
/// if the agent did not complete it; nothing of a turn follows its end but its result's delivery.
void check_items(const std::vector<json>& events) {
  std::map<std::string, std::string> open; // item -> turn
  std::map<std::string, std::string> texts;
  std::set<std::string> over;
  for (const json& e : events) {
    INFO(e.dump());
    const std::string type = string_or(e, "type");
    const std::string turn = string_or(e, "turn");
    const json& item = object_at(data_of(e), "item");
    const std::string id = string_or(item, "id", string_or(data_of(e), "item"));
    CHECK((type.starts_with("result.") || !over.contains(turn)));
    if (type == "item.started") {
      CHECK(texts.emplace(id, "").second);
      open[id] = turn;
    } else if (type == "item.delta") {
      CHECK(open.contains(id));
      texts[id] += string_or(data_of(e), "text");
    } else if (type == "item.completed") {
      CHECK(open.erase(id) == 1);
      if (string_or(item, "status") == "interrupted") {
        CHECK(string_or(item, "text") == texts[id]);
      }
    } else if (type == "turn.completed") {
      over.insert(turn);
      for (const auto& [left, of_turn] : open) {
        CHECK(of_turn != turn);
      }
    }
  }
  CHECK(open.empty());
}

/// A place in a turn: what the agent is told, and the event that says it has come there.
struct place {
  const char* name;
  const char* prompt;
  const char* sign;
};

const std::vector<place> places{
  {"before its agent listens", "LATEINIT 20000\nWORDS 5", "turn.started"},
  {"in the middle of an answer", "WORDS 2000 10", "item.delta"},
  {"in a tool call", "TOOL sleep 60", "item.started"},
  {"with an agent that only signals end", "DEAF\nIGNORETERM\nWORDS 2000 10", "item.delta"},
  {"between two answers", "ECHO one\nPAUSE 60000", "item.completed"},
};

std::string begin(scene& stage, const std::string& workspace, const place& at) {
  const std::string turn = stage.submit(workspace, at.prompt);
  stage.await_event(workspace, at.sign, turn);
  return turn;
}

std::string outcome_of(const scene& stage, const std::string& workspace, const std::string& turn) {
  return string_or(data_of(stage.completion(workspace, turn)), "outcome");
}

} // namespace

SCENARIO("a turn that somebody ends leaves no item open and says nothing more") {
  scene stage({.environment = {{"TIDEMARK_AGENT_INTERRUPT_GRACE", "300ms"},
                               {"TIDEMARK_AGENT_KILL_GRACE", "300ms"}}});
  const std::map<std::string, std::function<void(const std::string&, const std::string&)>> ends{
    {"cancel",
     [&](const auto& w, const auto& turn) { stage.client.remove(of(w, "turns/" + turn)); }},
    {"interrupt",
     [&](const auto& w, const auto& turn) {
       stage.client.post(of(w, "turns/" + turn + "/interrupt"));
     }},
    {"death of the agent", [&](const auto& w, const auto& turn) {
       const json started = stage.await_event(w, "turn.started", turn);
       ::kill(static_cast<pid_t>(int_or(object_at(data_of(started), "agent"), "pid", 0)), SIGKILL);
     }}};
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const auto& [how, end] : ends) {
      INFO(how << ", " << places[i].name);
      const std::string workspace = "w" + std::to_string(i) + how.substr(0, 2);
      const std::string turn = begin(stage, workspace, places[i]);
      end(workspace, turn);
      const std::string next = stage.submit(workspace, "ECHO next"); // begins when all is over
      CHECK(outcome_of(stage, workspace, turn) != "succeeded");
      CHECK(outcome_of(stage, workspace, next) == "succeeded");
      check_items(stage.events(workspace));
    }
  }
}

SCENARIO("a server that stops or is killed leaves no item open, wherever its turns were") {
  const bool in_order = GENERATE(true, false);
  scene stage;
  std::map<std::string, std::string> turns; // workspace -> turn
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string workspace = "w" + std::to_string(i);
    turns[workspace] = begin(stage, workspace, places[i]);
  }
  stage.run("background", "BACKGROUND 60000\nECHO done");
  if (in_order) {
    CHECK(stage.server.terminate() == 0);
  } else {
    stage.server.kill();
  }
  stage.server.start();
  stage.reconnect();
  for (const auto& [workspace, turn] : turns) {
    INFO(workspace << (in_order ? " stopped" : " killed"));
    CHECK(outcome_of(stage, workspace, turn) == "interrupted");
    CHECK(outcome_of(stage, workspace, stage.submit(workspace, "ECHO next")) == "succeeded");
    check_items(stage.events(workspace));
  }
  stage.run("background", "ECHO next");
  check_items(stage.events("background"));
}

SCENARIO("readers of a server that stops see the end of every turn before their own") {
  scene stage;
  const std::string turn = begin(stage, "demo", places[1]);
  sse_reader frames(stage.client, of("demo", "events"));
  sse_reader::options as_lines;
  as_lines.headers["Accept"] = "application/x-ndjson";
  sse_reader lines(stage.client, of("demo", "events?follow=true"), as_lines);
  REQUIRE(frames.wait_for("item.delta"));
  REQUIRE(lines.wait_for_status());
  sse_reader v1(stage.client, message_stream_path, message_stream("other", "WORDS 2000 10"));
  REQUIRE(v1.wait_for("chunk"));
  http_reply whole;
  std::thread caller(
    [&] { whole = stage.client.post("/api/v1/message", message("third", "WORDS 2000 10")); });
  command_result sent;
  std::thread sender([&] { sent = run_command(stage, "send fourth 'WORDS 2000 10'"); });
  stage.await_event("third", "item.delta");
  stage.await_event("fourth", "item.delta");
  CHECK(stage.server.terminate() == 0);
  for (auto* reader : {&frames, &lines, &v1}) {
    REQUIRE(reader->wait_for_end());
    CHECK(reader->ended_properly());
  }
  caller.join();
  sender.join();
  // What the agent still said when its turn was over may follow, of no turn.
  const auto ends_the_turn = [&](const sse_frame& e) {
    return e.event == "turn.completed" && string_or(e.parsed(), "turn") == turn;
  };
  const auto seen = frames.events();
  CHECK(std::ranges::count_if(seen, ends_the_turn) == 1);
  CHECK(lines.raw().find(R"("type":"turn.completed")") != std::string::npos);
  const auto why = string_or(v1.all().back().parsed(), "message");
  CHECK(why.find("stopped while this task ran") != std::string::npos);
  CHECK(string_or(whole.parsed(), "message").find("stopped while this task ran")
        != std::string::npos);
  INFO(sent.out);
  CHECK(sent.code == 1);
  CHECK(sent.out.find("interrupted") != std::string::npos);

  stage.server.start();
  stage.reconnect();
  CHECK(dense_from(frames.events(), 1));
  const auto logged = stage.events("demo");
  REQUIRE(logged.size() == frames.events().size());
  CHECK(frames.events().back().parsed() == logged.back());
}

SCENARIO("doctor takes the server that runs for what it is") {
  scene stage;
  stage.run("demo", "hello");
  const auto healthy = run_command(stage, "doctor");
  INFO(healthy.out);
  CHECK(healthy.code == 0);
  CHECK(healthy.out.find("process " + std::to_string(stage.server.pid())) != std::string::npos);
  CHECK(healthy.out.find("bad ") == std::string::npos);
  CHECK(healthy.out.find("warning") == std::string::npos);
}

SCENARIO("what a user sees of a good turn is the answer, and workspaces are called so") {
  scene stage;
  const auto sent = run_command(stage, "send demo 'ECHO fine'");
  INFO(sent.out);
  CHECK(sent.code == 0);
  CHECK(sent.out.find("agent.notice") == std::string::npos);
  const auto tail = run_command(stage, "tail demo");
  INFO(tail.out);
  CHECK(tail.out.find("agent.notice") == std::string::npos);
  for (const auto* command : {"tail nosuch", "tail nosuch --follow", "verify nosuch"}) {
    const auto none = run_command(stage, command);
    INFO(command << ": " << none.out);
    CHECK(none.code == 5);
    CHECK(none.out.find("there is no workspace \"nosuch\"") != std::string::npos);
    CHECK(none.out.find("stream") == std::string::npos);
  }
}
