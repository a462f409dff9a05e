#include "tests/actors/core_run.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::testing;
using namespace std::chrono_literals;

SCENARIO("a result is delivered by the stream or becomes pending, never both") {
  core_run run;
  const auto a = run.submit_held("a");
  run.report(started(a));

  WHEN("its client stays to the end") {
    run.report(ended(a, outcome::succeeded, "text"));
    REQUIRE(run.of_type("result.pending").empty());
    run.ask(get_pending{});
    REQUIRE(run.answered<pending_reply>().results.empty());
    run.ask(client_received{a});
    run.ask(client_left{a});
    THEN("it is delivered once") {
      REQUIRE(run.last("result.delivered")["via"] == "stream");
      REQUIRE(run.of_type("result.delivered").size() == 1);
      REQUIRE(run.of_type("result.pending").empty());
    }
  }
  WHEN("its client left before the end") {
    run.ask(client_left{a});
    REQUIRE(run.working.running);
    run.report(ended(a, outcome::succeeded, "text"));
    THEN("end and pending stand in one batch") {
      REQUIRE(run.stored[run.stored.size() - 2].type == "turn.completed");
      REQUIRE(run.stored.back().type == "result.pending");
      run.ask(get_pending{});
      REQUIRE(run.answered<pending_reply>().results.front().text == "text");
    }
  }
  WHEN("its client left after the end without having all of it") {
    run.report(ended(a, outcome::succeeded, "text"));
    run.ask(client_left{a});
    THEN("it becomes pending") {
      run.ask(get_pending{});
      REQUIRE(run.answered<pending_reply>().results.size() == 1);
      AND_THEN("it is settled once") {
        run.ask(settle_pending{{a, "unknown"}, "poll", "bot"});
        run.ask(settle_pending{{a}, "ack", "bot"});
        REQUIRE(run.of_type("result.delivered").size() == 1);
        run.ask(get_pending{});
        REQUIRE(run.answered<pending_reply>().results.empty());
      }
    }
  }
  WHEN("the server dies while the client takes it") {
    run.report(ended(a, outcome::succeeded, "text"));
    REQUIRE(run.meta.contains(record_key::active("w")));
    run.restart();
    THEN("it is pending after the restart, and survives the next one") {
      run.restart();
      run.ask(get_pending{});
      REQUIRE(run.answered<pending_reply>().results.front().id == a);
      REQUIRE(run.of_type("result.pending").size() == 1);
    }
  }
}

SCENARIO("failures are kept with their error, cancelled turns are not kept") {
  core_run run;
  const auto a = run.submit_held("a");
  run.report(started(a));
  run.ask(client_left{a});
  WHEN("it fails") {
    run.report(failed(a, "RATE_LIMITED", "slow down"));
    run.ask(get_pending{});
    const auto kept = run.answered<pending_reply>().results.front();
    REQUIRE(kept.is_error);
    REQUIRE(kept.error_code == "RATE_LIMITED");
    REQUIRE(kept.text == "slow down");
  }
  WHEN("it is cancelled") {
    run.ask(cancel_turn{a, "client"});
    run.report(ended(a));
    run.ask(get_pending{});
    REQUIRE(run.answered<pending_reply>().results.empty());
    REQUIRE(run.of_type("result.pending").empty());
  }
}

SCENARIO("a queued turn whose client leaves is dropped; one that has begun goes on") {
  core_run run;
  const auto a = run.submit_held("a");
  const auto b = run.submit_held("b");
  run.ask(client_left{b});
  REQUIRE(run.last("turn.completed")["turn"] == b);
  run.ask(client_left{a}); // begun, though its process has not reported yet
  REQUIRE(run.of_type("turn.completed", a).empty());
}

SCENARIO("pending results expire") {
  core_run run;
  const auto a = run.submit_held("a");
  run.report(started(a));
  run.ask(client_left{a});
  run.report(ended(a));
  run.pass(3601s);
  run.ask(get_pending{});
  REQUIRE(run.answered<pending_reply>().results.empty());
  run.tick();
  REQUIRE(run.last("result.delivered")["via"] == "expired");
  REQUIRE(run.working.pending.empty());
}

SCENARIO("contract, Sessions, settings, policy: the conversation is resumed only after a success") {
  core_run run;
  const auto a = run.submit("a");
  run.report(started(a, "s1"));
  WHEN("the turn fails") {
    run.report(ended(a, outcome::failed));
    run.submit("b");
    REQUIRE(run.begin()->resume.empty());
  }
  WHEN("the turn succeeds") {
    run.report(ended(a));
    run.submit("b");
    REQUIRE(run.begin()->resume == "s1");
    run.restart();
    THEN("also after a restart") {
      REQUIRE(run.begin()->resume == "s1");
    }
  }
  WHEN("it is reset while it runs") {
    run.ask(reset_session{"client"});
    REQUIRE_FALSE(run.answered<reset_reply>().old_session);
    run.report(ended(a));
    THEN("the run does not write its conversation back") {
      run.submit("b");
      REQUIRE(run.begin()->resume.empty());
    }
  }
}

SCENARIO("a conversation that the agent begins anew between turns is the one that is resumed") {
  core_run run;
  const auto a = run.submit("a");
  run.report(started(a, "s1"));
  run.report(ended(a));
  const auto begins_anew = [&](const char* before) {
    session_report late;
    late.session = "s2";
    late.events.push_back(
      {"session.started", json::object({{"session", "s2"}, {"follows", before}}), {}});
    run.report(late);
  };
  WHEN("it replaces the one that the workspace has") {
    begins_anew("s1");
    run.restart();
    run.submit("b");
    REQUIRE(run.begin()->resume == "s2");
  }
  WHEN("it replaces another one") {
    begins_anew("s0");
    run.submit("b");
    REQUIRE(run.begin()->resume == "s1");
  }
  WHEN("a client has reset the conversation") {
    run.ask(reset_session{"client"});
    begins_anew("s1");
    run.submit("b");
    REQUIRE(run.begin()->resume.empty());
  }
}

SCENARIO("a turn whose conversation is lost runs once more without it, as the same turn") {
  core_run run;
  const auto a = run.submit("a");
  run.report(started(a, "s1"));
  run.report(ended(a));
  const auto b = run.submit("b");
  run.report(started(b));
  auto lost = ended(b, outcome::failed);
  lost.end->session_lost = true;
  run.report(lost);
  REQUIRE(run.of_type("session.lost").size() == 1);
  REQUIRE(run.of_type("turn.completed", b).empty());
  REQUIRE(run.begin()->turn == b);
  REQUIRE(run.begin()->resume.empty());

  WHEN("the second attempt works") {
    run.report(started(b, "s2"));
    REQUIRE(run.last("turn.started")["attempt"] == 2);
    run.report(ended(b));
    REQUIRE(run.of_type("turn.completed", b).size() == 1);
    REQUIRE(run.working.session == "s2");
  }
  WHEN("the second attempt is lost too") {
    run.report(lost);
    THEN("it fails and does not loop") {
      REQUIRE(run.last("turn.completed")["outcome"] == "failed");
      REQUIRE(run.begun().empty());
    }
  }
}

SCENARIO("every permission ask is resolved once, by the policy of that moment") {
  core_run run;
  run.rules.rights = policy::strict;
  const auto a = run.submit("a");
  auto report = started(a);
  report.events.push_back(
    {"permission.requested", parse_json(R"({"permission":"p1","tool":"Bash"})").value(), {}});
  report.asks.push_back({"p1", "Bash", json::object()});
  run.report(report);
  REQUIRE(run.last("permission.resolved")["decision"] == "deny");
  REQUIRE_FALSE(string_or(run.last("permission.resolved"), "message").empty());
  run.rules.rights = policy::relaxed;
  auto second = session_report{};
  second.turn = a;
  second.events.push_back(
    {"permission.requested", parse_json(R"({"permission":"p2","tool":"Bash"})").value(), {}});
  second.asks.push_back({"p2", "Bash", json::object()});
  second.events.push_back({"permission.resolved",
                           parse_json(R"({"permission":"p1","decision":"withdrawn"})").value(),
                           {}});
  second.withdrawn.push_back("p1");
  run.report(second);
  REQUIRE(run.last("permission.resolved")["decision"] == "allow");
  REQUIRE(run.of_type("permission.resolved").size() == 2);
  const auto* sent = std::get_if<answer_permission>(&run.effects.front());
  REQUIRE(sent);
  REQUIRE(sent->what.what == decision::allow);
  run.report(ended(a));
  REQUIRE(run.of_type("permission.resolved").size() == 2);
}

SCENARIO("output that comes after a turn's end belongs to no turn") {
  core_run run;
  const auto a = run.submit("a");
  run.report(started(a));
  run.report(ended(a));
  session_report late;
  late.events.push_back({"agent.notice", parse_json(R"({"code":"x"})").value(), {}});
  run.report(late);
  REQUIRE(run.stored.back().turn.empty());
}

SCENARIO("a snapshot is written every so often and restores the same state") {
  core_run run;
  run.rules.snapshot_every = 10;
  for (int i = 0; i < 12; ++i)
    run.submit_held("p" + std::to_string(i));
  const auto saved = run.meta.find(record_key::snapshot(run.working.stream));
  REQUIRE(saved != run.meta.end());
  const auto restored = restore(saved->second).value();
  REQUIRE(snapshot(restored) == saved->second);
  REQUIRE(restored.snapshot_at == restored.head);
  REQUIRE_FALSE(restore("{}"));
  REQUIRE(restore(R"({"version":99})").error().code == errc::newer_format);
}
