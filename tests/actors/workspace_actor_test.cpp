#include "tests/actors/actor_stage.hpp"

#include <catch2/catch.hpp>

#include <thread>

using namespace tidemark;
using namespace tidemark::testing;
using tidemark::test::poll_until;
using namespace std::chrono_literals;

SCENARIO("a submitted turn is answered when it is durable, and runs") {
  actor_stage stage;
  const auto reply = stage.submit("w", "ok").value();
  const auto stored = stage.events("w");
  REQUIRE(stored.at(reply.at.value - 1).type == "turn.queued");
  REQUIRE(stored.at(reply.at.value - 1).global == reply.global);
  REQUIRE(reply.stream.name == "w");
  REQUIRE(poll_until([&] { return stage.completed("w", reply.turn, "succeeded"); }));
  REQUIRE(poll_until([&] { return !stage.list().empty() && !stage.list().front().busy; }));
  REQUIRE(stage.list().front().session == "conversation");
  REQUIRE(stage.get<workspace_info>("w", describe_workspace{}).stream.head.value
          == stage.events("w").size());
}

SCENARIO("a repeated request is answered with the place of the first") {
  actor_stage stage;
  submit_turn what;
  what.prompt = "ok";
  what.idempotency_key = "k";
  const auto first = stage.get<submit_reply>("w", what);
  const auto again = stage.get<submit_reply>("w", what);
  REQUIRE(again.repeated);
  REQUIRE(again.turn == first.turn);
  REQUIRE(again.at == first.at);
  REQUIRE(again.global == first.global);
}

SCENARIO("an unknown workspace is not made by a question, and an unfit name by nothing") {
  actor_stage stage;
  REQUIRE(stage.ask("nobody", get_queue{}, false).error().code == errc::not_found);
  REQUIRE(stage.ask("../up", get_queue{}, true).error().code == errc::invalid_argument);
  REQUIRE(stage.list().empty());
}

SCENARIO("a cancel is answered at once, and the next turn runs when the old process is gone") {
  actor_stage stage;
  const auto a = stage.submit("w", "hang").value().turn;
  const auto b = stage.submit("w", "ok").value().turn;
  REQUIRE(poll_until([&] { return stage.count("w", "turn.started", a) == 1; }));
  REQUIRE(stage.get<cancel_reply>("w", cancel_current{"test"}).cancelled);
  REQUIRE(stage.completed("w", a, "cancelled"));
  REQUIRE(poll_until([&] { return stage.completed("w", b, "succeeded"); }));
  REQUIRE(stage.count("w", "turn.completed", a) == 1);
}

SCENARIO("a failed commit is answered with its error, and the workspace recovers from the log") {
  const auto code = GENERATE(errc::full, errc::io);
  actor_stage stage;
  const auto a = stage.submit("w", "hang").value().turn;
  REQUIRE(poll_until([&] { return stage.count("w", "turn.started", a) == 1; }));
  stage.log->fail_next(code);
  REQUIRE(stage.submit("w", "ok").error().code == code);

  // Its agent was stopped with the state that it belonged to.
  REQUIRE(poll_until([&] { return stage.completed("w", a, "interrupted"); }));
  expected<submit_reply> again = tl::unexpected<error>{error{}};
  REQUIRE(poll_until([&] { return (again = stage.submit("w", "ok")).has_value(); }));
  REQUIRE(poll_until([&] { return stage.completed("w", again->turn, "succeeded"); }));
  REQUIRE(stage.count("w", "turn.queued") == 2);
  REQUIRE(stage.stop());
  REQUIRE(stage.sessions->live_count() == 0);
}

SCENARIO(
  "a workspace that was refused often serves the first command after its log is well again") {
  actor_stage stage;
  const auto first = stage.submit("w", "ok").value().turn;
  REQUIRE(poll_until([&] { return stage.completed("w", first, "succeeded"); }));
  for (int i = 0; i < 12; ++i) { // by now the next attempt of its own is seconds away
    stage.log->fail_next(errc::full);
    REQUIRE(stage.submit("w", "ok").error().code == errc::full);
  }
  REQUIRE(stage.log->health().accepting);
  REQUIRE(stage.submit("w", "ok"));
}

SCENARIO("a workspace that fails is started again, says so, and its queue goes on") {
  actor_stage stage;
  stage.sessions->throws = 2;
  const auto a = stage.submit("w", "ok").value().turn;
  REQUIRE(poll_until([&] { return stage.completed("w", a, "succeeded"); }));
  REQUIRE(stage.count("w", "fault") == 2);
  REQUIRE(stage.count("w", "turn.completed") == 1);
}

SCENARIO("a workspace that always fails is given up and says why") {
  actor_stage stage;
  stage.sessions->throws = 1000;
  REQUIRE(stage.submit("w", "ok"));
  REQUIRE(poll_until([&] {
    const auto reply = stage.ask("w", get_queue{});
    return !reply && reply.error().message.find("no session today") != std::string::npos;
  }));
  REQUIRE(stage.stop());
}

SCENARIO("a session that dies without a word fails its turn, and the next one runs") {
  actor_stage stage;
  const auto a = stage.submit("w", "die").value().turn;
  const auto b = stage.submit("w", "ok").value().turn;
  REQUIRE(poll_until([&] { return stage.completed("w", b, "succeeded"); }));
  REQUIRE(stage.completed("w", a, "failed"));
  REQUIRE(stage.count("w", "fault") == 1);
}

SCENARIO("an idle workspace is passivated with its agent, and comes back as it was") {
  actor_stage stage{std::make_shared<memory_log>(), 20ms};
  const auto a = stage.submit("w", "ok").value().turn;
  REQUIRE(poll_until([&] { return stage.completed("w", a, "succeeded"); }));
  REQUIRE(poll_until([&] { return stage.sessions->live_count() == 0; }));
  const auto stream = stage.log->find("w").value();
  REQUIRE(poll_until([&] {
    return stage.log->get(table::meta, record_key::snapshot(stream.id)).value().has_value();
  }));
  REQUIRE(stage.list().size() == 1);
  const auto b = stage.submit("w", "ok").value().turn;
  REQUIRE(poll_until([&] { return stage.completed("w", b, "succeeded"); }));
  REQUIRE(stage.sessions->begun_at(1).resume == "conversation");
  REQUIRE(stage.count("w", "workspace.created") == 1);
}

SCENARIO("commands that meet a passivation are all answered") {
  actor_stage stage{std::make_shared<memory_log>(), 1ms};
  for (int i = 0; i < 100; ++i)
    REQUIRE(stage.ask("w", get_queue{}));
}

SCENARIO("a shutdown interrupts what runs, and the next server goes on with the queue") {
  auto log = std::make_shared<memory_log>();
  std::string a;
  std::string b;
  {
    actor_stage stage{log};
    a = stage.submit("w", "hang").value().turn;
    b = stage.submit("w", "ok").value().turn;
    REQUIRE(poll_until([&] { return stage.count("w", "turn.started", a) == 1; }));
    REQUIRE(stage.stop());
    REQUIRE(stage.completed("w", a, "interrupted"));
    REQUIRE(stage.sessions->live_count() == 0);
    REQUIRE(stage.count("w", "turn.completed", b) == 0);
  }
  actor_stage next{log};
  REQUIRE(poll_until([&] { return next.completed("w", b, "succeeded"); }));
  REQUIRE(next.list().size() == 1);
}

SCENARIO("a client that takes its result during the shutdown has it delivered") {
  actor_stage stage;
  const auto a = stage.submit("w", "hang", true).value().turn;
  REQUIRE(poll_until([&] { return stage.count("w", "turn.started", a) == 1; }));
  std::thread client{[&] {
    if (poll_until([&] { return stage.count("w", "turn.completed", a) == 1; }))
      (void) stage.ask("w", client_received{a});
  }};
  const auto in_order = stage.stop_directory();
  client.join();
  REQUIRE(in_order);
  REQUIRE(stage.count("w", "result.delivered", a) == 1);
}

SCENARIO("the environment of a turn reaches its session and nothing else") {
  actor_stage stage;
  submit_turn what;
  what.prompt = "ok";
  what.environment = {{"KEY", "secret-value"}};
  const auto reply = stage.get<submit_reply>("w", what);
  const auto plain = stage.submit("w", "ok").value();
  REQUIRE(poll_until([&] { return stage.completed("w", plain.turn, "succeeded"); }));
  REQUIRE(stage.sessions->begun_at(0).environment.at("KEY") == "secret-value");
  REQUIRE(stage.sessions->begun_at(1).environment.empty());
  for (const auto& e : stage.events("w"))
    REQUIRE(e.data.find("secret-value") == std::string::npos);
}
