#include "tests/actors/core_run.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::testing;
using namespace std::chrono_literals;

SCENARIO("turns run one at a time in the order of acceptance") {
  core_run run;
  const auto a = run.submit("a");
  REQUIRE(run.begun() == a);
  REQUIRE(run.answered<submit_reply>().place == 0);
  const auto b = run.submit("b");
  REQUIRE(run.begun().empty());
  REQUIRE(run.answered<submit_reply>().place == 1);
  const auto c = run.submit("c");
  REQUIRE(run.answered<submit_reply>().place == 2);

  run.report(started(a));
  run.ask(get_queue{});
  REQUIRE(run.answered<queue_reply>().current->turn == a);
  REQUIRE(run.answered<queue_reply>().current->started == run.now);
  REQUIRE(run.answered<queue_reply>().waiting.size() == 2);
  run.report(ended(a));
  REQUIRE(run.begun() == b);
  run.report(started(b));
  run.report(ended(b));
  REQUIRE(run.begun() == c);
  run.report(started(c));
  run.report(ended(c));
  REQUIRE_FALSE(run.working.busy());
  for (const auto& turn : {a, b, c})
    REQUIRE(run.of_type("turn.completed", turn).size() == 1);
}

SCENARIO("cancelling the running turn ends it at once, and the next waits for the old process") {
  core_run run;
  const auto a = run.submit("a");
  const auto b = run.submit("b");
  run.report(started(a));
  run.ask(cancel_current{"client"});
  REQUIRE(run.answered<cancel_reply>().cancelled);
  REQUIRE(run.stopped() == stop_force::kill);
  REQUIRE(run.begun().empty());
  REQUIRE(run.last("turn.completed")["outcome"] == "cancelled");
  REQUIRE(run.last("turn.completed")["error"]["code"] == "TASK_CANCELLED");

  AND_WHEN("a second cancel comes while the process still dies") {
    run.ask(cancel_current{"client"});
    THEN("it hits nothing") {
      REQUIRE_FALSE(run.answered<cancel_reply>().cancelled);
      run.ask(get_queue{});
      REQUIRE_FALSE(run.answered<queue_reply>().current);
      REQUIRE(run.answered<queue_reply>().waiting.front().turn == b);
    }
  }
  AND_WHEN("the session reports the end of the old turn") {
    run.report(ended(a, outcome::succeeded));
    THEN("nothing terminal is added and the next turn starts") {
      REQUIRE(run.of_type("turn.completed", a).size() == 1);
      REQUIRE(run.begun() == b);
    }
  }
}

SCENARIO("a turn cancelled before its process reported anything is over for good") {
  core_run run;
  const auto a = run.submit("a");
  run.ask(cancel_turn{a, "client"});
  REQUIRE(run.stopped() == stop_force::kill);
  run.report(started(a));
  run.report(ended(a));
  REQUIRE(run.of_type("turn.started").empty());
  REQUIRE(run.of_type("turn.completed", a).size() == 1);
}

SCENARIO("cancelling one queued turn leaves its neighbours alone") {
  core_run run;
  const auto a = run.submit("a");
  const auto b = run.submit("b");
  const auto c = run.submit("c");
  run.report(started(a));
  run.ask(cancel_turn{b, "client"});
  REQUIRE(run.answered<cancel_reply>().cancelled);
  REQUIRE_FALSE(run.stopped());
  run.report(ended(a));
  REQUIRE(run.begun() == c);
  run.ask(cancel_turn{b, "client"});
  REQUIRE_FALSE(run.answered<cancel_reply>().found);
}

SCENARIO("an interrupted turn ends as cancelled, whatever the agent makes of it") {
  core_run run;
  const auto a = run.submit("a");
  run.report(started(a));
  run.ask(interrupt_turn{a, "client"});
  REQUIRE(run.stopped() == stop_force::interrupt);
  REQUIRE(run.of_type("turn.completed").empty());
  run.ask(get_queue{});
  REQUIRE(run.answered<queue_reply>().current->cancelling);
  run.report(ended(a, outcome::succeeded));
  REQUIRE(run.last("turn.completed")["outcome"] == "cancelled");
  run.ask(interrupt_turn{a, "client"});
  REQUIRE_FALSE(run.answered<cancel_reply>().found);
}

SCENARIO("items and permissions that a cancelled turn left open are closed before its end") {
  core_run run;
  const auto a = run.submit("a");
  auto report = started(a);
  report.events.push_back(
    {"item.started", parse_json(R"({"item":{"id":"i1","kind":"tool_call"}})").value(), {}});
  report.events.push_back(
    {"permission.requested", parse_json(R"({"permission":"p1","tool":"Bash"})").value(), {}});
  run.report(report);
  run.ask(cancel_turn{a, "client"});
  const auto closed = run.of_type("item.completed", a);
  REQUIRE(closed.size() == 1);
  REQUIRE(run.last("item.completed")["item"]["status"] == "interrupted");
  REQUIRE(run.last("permission.resolved")["by"] == "withdrawn");
  REQUIRE(run.stored.back().type == "turn.completed");

  auto late = ended(a);
  late.events.push_back({"item.completed", parse_json(R"({"item":{"id":"i1"}})").value(), {}});
  run.report(late);
  REQUIRE(run.of_type("item.completed").size() == 1);
}

SCENARIO("the same idempotency key brings the same turn, also after a restart") {
  core_run run;
  submit_turn what;
  what.prompt = "a";
  what.idempotency_key = "k";
  what.body_hash = "h";
  const auto a = run.submit(what);
  const auto events = run.stored.size();
  REQUIRE(run.submit(what) == a);
  REQUIRE(run.answered<submit_reply>().repeated);
  REQUIRE(run.stored.size() == events);
  run.report(started(a));
  run.report(ended(a));
  run.restart();
  REQUIRE(run.submit(what) == a);
  what.body_hash = "other";
  run.ask(what);
  REQUIRE(run.reply->error().code == errc::conflict);
}

SCENARIO("a full queue and an oversized prompt are refused without a trace") {
  core_run run;
  run.rules.max_queued = 2;
  run.rules.max_prompt_bytes = 10;
  run.submit("a");
  run.submit("b");
  const auto events = run.stored.size();
  submit_turn what;
  what.prompt = "c";
  run.ask(what);
  REQUIRE(run.reply->error().code == errc::too_large);
  what.prompt = std::string(11, 'x');
  run.ask(what);
  REQUIRE(run.reply->error().code == errc::too_large);
  REQUIRE(run.stored.size() == events);
}

SCENARIO("a turn's environment is stored by name only and lost with the process") {
  core_run run;
  run.submit("first");
  submit_turn what;
  what.prompt = "b";
  what.environment = {{"API_KEY", "hunter2-hunter2"}};
  const auto b = run.submit(what);
  for (const auto& e : run.stored)
    REQUIRE(e.data.find("hunter2") == std::string::npos);
  for (const auto& [key, value] : run.meta)
    REQUIRE(value.find("hunter2") == std::string::npos);
  run.restart();
  REQUIRE(run.last("turn.completed")["turn"] == b);
  REQUIRE(run.last("turn.completed")["error"]["code"] == "ENV_LOST");
}

SCENARIO("failed logins pause the queue instead of burning it") {
  core_run run;
  std::vector<std::string> turns;
  for (int i = 0; i < 20; ++i)
    turns.push_back(run.submit("x"));
  for (int i = 0; i < 3; ++i) {
    run.report(started(turns[static_cast<std::size_t>(i)]));
    run.report(failed(turns[static_cast<std::size_t>(i)], "AUTHENTICATION_FAILED"));
  }
  REQUIRE(run.begun().empty());
  REQUIRE(run.last("agent.notice")["code"] == "queue_paused");
  REQUIRE(run.working.queue.size() == 17);
  run.ask(cancel_current{"client"});
  REQUIRE_FALSE(run.answered<cancel_reply>().cancelled);

  WHEN("the pause is over") {
    run.pass(61s);
    run.tick();
    REQUIRE(run.begun() == turns[3]);
    run.report(started(turns[3]));
    run.report(ended(turns[3]));
    THEN("a success resumes the queue") {
      REQUIRE(run.begun() == turns[4]);
    }
  }
  WHEN("the session is reset") {
    run.ask(reset_session{"client"});
    THEN("the queue goes on at once") {
      REQUIRE(run.begun() == turns[3]);
    }
  }
}

SCENARIO("a used-up limit pauses the queue too, until its end if that is near") {
  const auto resets_in = GENERATE(-5s, 0s, 600s, 36'000s);
  core_run run;
  std::vector<std::string> turns;
  for (int i = 0; i < 5; ++i)
    turns.push_back(run.submit("x"));
  for (int i = 0; i < 3; ++i) {
    run.report(started(turns[static_cast<std::size_t>(i)]));
    auto report = failed(turns[static_cast<std::size_t>(i)], "RATE_LIMITED");
    if (resets_in != 0s)
      report.end->why->details["resets_at"] =
        run.now.nanoseconds / 1'000'000'000 + resets_in.count();
    run.report(report);
  }
  REQUIRE(run.begun().empty());
  const auto pause = run.last("agent.notice")["pause_s"].get<std::int64_t>();
  REQUIRE(pause == (resets_in < 60s ? 60 : resets_in > 3600s ? 3600 : resets_in.count()));
  run.pass(std::chrono::seconds{pause + 1});
  run.tick();
  REQUIRE(run.begun() == turns[3]);
}

SCENARIO("a turn that runs over its limit fails and is killed") {
  core_run run;
  submit_turn what;
  what.prompt = "slow";
  what.timeout = 5s;
  const auto a = run.submit(what);
  run.report(started(a));
  run.pass(4s);
  run.tick();
  REQUIRE(run.of_type("turn.completed").empty());
  run.pass(2s);
  run.tick();
  REQUIRE(run.stopped() == stop_force::kill);
  REQUIRE(run.last("turn.completed")["error"]["code"] == "TIMEOUT");
}

SCENARIO("a turn that ran when the server died is interrupted, and the queue goes on in order") {
  core_run run;
  const auto a = run.submit("a");
  const auto b = run.submit("b");
  run.submit("c");
  run.report(started(a));
  run.restart();
  REQUIRE(run.last("turn.completed")["turn"] == a);
  REQUIRE(run.last("turn.completed")["outcome"] == "interrupted");
  REQUIRE(run.begun() == b);
}

SCENARIO("a turn that asked for it runs again after a crash, but not for ever") {
  core_run run;
  submit_turn what;
  what.prompt = "a";
  what.on_restart = restart_rule::retry;
  const auto a = run.submit(what);
  const auto b = run.submit("b");
  for (int attempt = 1; attempt <= 3; ++attempt) {
    run.report(started(a));
    REQUIRE(run.last("turn.started")["attempt"] == attempt);
    run.restart();
    REQUIRE(run.begun() == (attempt < 3 ? a : b));
  }
  REQUIRE(run.last("turn.completed")["outcome"] == "interrupted");
}

SCENARIO("an orderly shutdown interrupts the running turn and keeps the queue") {
  core_run run;
  const auto a = run.submit("a");
  const auto b = run.submit("b");
  run.report(started(a));
  run.take(on_shutdown(run.working, run.rules, run.clients, run.now));
  REQUIRE(run.last("turn.completed")["outcome"] == "interrupted");
  REQUIRE(run.begun().empty());
  run.restart();
  REQUIRE(run.begun() == b);
}

SCENARIO(
  "an orderly shutdown ends the waiting turns whose clients hear of it, so none runs twice") {
  core_run run;
  const auto a = run.submit("a");
  const auto held = run.submit_held("b");
  const auto left = run.submit_held("c");
  const auto native = run.submit("d");
  run.clients.erase(left); // since a recovery nobody waits for it
  run.report(started(a));
  run.take(on_shutdown(run.working, run.rules, run.clients, run.now));
  const auto ends = run.of_type("turn.completed", held);
  REQUIRE(ends.size() == 1);
  const auto end = parse_json(ends.front().data).value();
  REQUIRE(end["outcome"] == "cancelled");
  REQUIRE(end["error"]["code"] == "SERVER_STOPPING");
  REQUIRE(run.working.undelivered.empty());
  run.restart();
  REQUIRE(run.begun() == left);
  REQUIRE(run.of_type("turn.completed", native).empty());
}

SCENARIO("an orderly shutdown cancels a turn that its client waits for and that has just begun") {
  core_run run;
  const auto held = run.submit_held("a");
  REQUIRE(run.begun() == held);
  run.take(on_shutdown(run.working, run.rules, run.clients, run.now));
  REQUIRE(run.last("turn.completed")["outcome"] == "cancelled");
  run.restart();
  REQUIRE(run.begun().empty());
}

SCENARIO("the records of a turn and of its workspace follow the events") {
  core_run run;
  const auto a = run.submit("first\nline");
  const auto key = record_key::turn(run.working.stream, a);
  REQUIRE(parse_json(run.turns[key]).value()["status"] == "queued");
  REQUIRE(run.meta.contains(record_key::active("w")));
  run.report(started(a));
  REQUIRE(parse_json(run.turns[key]).value()["status"] == "running");
  run.report(ended(a, outcome::succeeded, "the text"));
  const auto record = parse_json(run.turns[key]).value();
  REQUIRE(record["status"] == "succeeded");
  REQUIRE(record["text"] == "the text");
  REQUIRE(record["prompt_preview"] == "first line");
  REQUIRE_FALSE(run.meta.contains(record_key::active("w")));
  REQUIRE(summary_of(run.meta[record_key::summary("w")]).value().id == "w");
}

SCENARIO("time never goes back within a stream") {
  core_run run;
  run.submit("a");
  const auto before = run.stored.back().time;
  run.now = timestamp{5};
  run.submit("b");
  REQUIRE(run.stored.back().time == before);
}

SCENARIO(
  "neighbour of B09: a prompt that outgrows an event when it is escaped is refused, never cut") {
  core_run run;
  run.rules.max_prompt_bytes = 1 << 30;
  submit_turn what;
  what.prompt = std::string(event_log::max_event_bytes / 6 + 1, '\x01');
  run.ask(what);
  REQUIRE(run.reply.value().error().code == errc::too_large);
  CHECK(run.working.queue.empty());
  what.prompt = std::string(event_log::max_event_bytes / 2, '"');
  run.ask(what);
  CHECK(run.reply.value().error().code == errc::too_large);
  what.prompt = "fine";
  what.metadata = json::object({{"long", std::string(event_log::max_event_bytes, 'x')}});
  run.ask(what);
  CHECK(run.reply.value().error().code == errc::too_large);
  what.metadata = json::object();
  what.prompt = std::string(event_log::max_event_bytes / 2, 'x');
  run.ask(what);
  CHECK(run.working.queue.back().prompt.size() == what.prompt.size());
}
