// Retention as a whole: what is told, what is removed, and that a workspace goes on without it.
#include "tests/actors/actor_stage.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::testing;
using namespace std::chrono_literals;

namespace {

retention_rules keep_turns(std::uint64_t count) {
  retention_rules rules;
  rules.turns = count;
  return rules;
}

offset trimmed(const actor_stage& stage, const std::string& workspace = "w") {
  return stage.log->find(workspace)->trimmed;
}

bool verifies(const actor_stage& stage, const std::string& workspace = "w") {
  const auto report = stage.log->verify(stage.log->find(workspace)->id);
  INFO((report ? report->problem : report.error().describe()));
  CHECK(report.has_value());
  return report && !report->first_bad;
}

std::string run(actor_stage& stage, const std::string& prompt = "ok", bool held = false) {
  const auto turn = stage.submit("w", prompt, held)->turn;
  REQUIRE(test::poll_until([&] { return stage.completed("w", turn, "succeeded"); }));
  return turn;
}

offset end_of(const actor_stage& stage, const std::string& turn) {
  offset last;
  for (const auto& e : stage.events("w"))
    if (e.turn == turn)
      last = e.at;
  return last;
}

json last_data(const actor_stage& stage, std::string_view type) {
  json out;
  for (const auto& e : stage.events("w"))
    if (e.type == type)
      out = parse_json(e.data).value_or(json::object());
  return out;
}

bool has_record(const actor_stage& stage, const std::string& turn) {
  const auto stream = stage.log->find("w")->id;
  return stage.log->get(table::turns, record_key::turn(stream, turn))->has_value();
}

/// Tells of the removal of all up to the end of `turn`, as the janitor does it.
expected<answer> tell(actor_stage& stage, const std::string& turn) {
  remove_events what;
  what.note.from = offset{1};
  what.note.to = end_of(stage, turn);
  what.note.count = what.note.to.value;
  what.note.reason = "turns";
  (void) stage.log->read(stage.log->find("w")->id, what.note.to, {1, SIZE_MAX, false},
                         [&](const event_view& e) {
                           what.note.hash = *e.hash;
                           what.until = e.time;
                           return false;
                         });
  return stage.ask("w", what);
}

} // namespace

SCENARIO("turns beyond the number to be kept go, and the workspace goes on, also after a restart") {
  auto log = std::make_shared<memory_log>();
  std::string kept;
  {
    actor_stage stage{log};
    const auto first = run(stage);
    const auto second = run(stage);
    kept = run(stage);
    const auto cut = end_of(stage, second);
    REQUIRE(has_record(stage, first));
    stage.keep(keep_turns(1));
    REQUIRE(test::poll_until([&] { return trimmed(stage) == cut; }));
    CHECK(verifies(stage));
    const auto told = last_data(stage, "events.removed");
    CHECK(told["to"] == cut.value);
    CHECK(told["policy"] == json{{"turns", 1}});
    CHECK(stage.count("w", "events.removed") == 1);
    CHECK_FALSE(has_record(stage, first));
    CHECK_FALSE(has_record(stage, second));
    CHECK(has_record(stage, kept));
    put_consumer reader;
    reader.name = "late";
    const auto made = stage.get<consumer_reply>("w", reader);
    CHECK(lag_of(made.now, made.stream) == lag_of(made.now, *log->find("w")));
    CHECK(lag_of(made.now, made.stream) == made.stream.head.value - cut.value);
    CHECK(stage.stop());
  }
  actor_stage again{log};
  CHECK(again.get<workspace_info>("w", describe_workspace{}).session == "conversation");
  run(again);
  CHECK(verifies(again));
}

SCENARIO("a removal that was told before the server died is completed after the start") {
  auto log = std::make_shared<memory_log>();
  offset cut;
  {
    actor_stage stage{log};
    const auto first = run(stage);
    run(stage);
    cut = end_of(stage, first);
    REQUIRE(tell(stage, first));
    if (GENERATE(false, true)) { // in part
      const auto stream = *log->find("w");
      REQUIRE(log->remove({stream.id, stream.incarnation, offset{2}, {}, {}, {}}));
    }
    CHECK(verifies(stage));
  }
  actor_stage stage{log};
  stage.keep(keep_turns(100));
  REQUIRE(test::poll_until([&] { return trimmed(stage) == cut; }));
  CHECK(verifies(stage));
  CHECK(stage.count("w", "events.removed") == 1);
}

SCENARIO("what is still needed is not removed, whoever asks for it") {
  actor_stage stage;
  const auto held = run(stage, "ok", true);
  const auto next = run(stage);
  CHECK(tell(stage, held).error().code == errc::conflict);
  CHECK(tell(stage, next).error().code == errc::conflict);
  stage.keep(keep_turns(1));
  stage.ask("w", client_received{held});
  const auto last = run(stage);
  REQUIRE(test::poll_until([&] { return trimmed(stage) > offset{0}; }));
  CHECK(trimmed(stage) < end_of(stage, last));
  CHECK(stage.submit("w", "hang"));
  CHECK(tell(stage, last).has_value());
  CHECK(verifies(stage));
}

SCENARIO("a workspace's own rules go before the server's, are told, and survive a restart") {
  auto log = std::make_shared<memory_log>();
  {
    actor_stage stage{log};
    run(stage);
    run(stage);
    run(stage);
    stage.keep({});
    configure_workspace what;
    what.retain = {{"turns", 2}, {"age_s", 0}};
    what.by = "auditor";
    const auto now = stage.get<configure_reply>("w", what);
    CHECK(now.retain == what.retain);
    REQUIRE(test::poll_until([&] { return trimmed(stage) > offset{0}; }));
    const auto told = last_data(stage, "workspace.configured");
    CHECK(told["by"] == "auditor");
    CHECK(told["changed"]["retain.turns"] == json{{"old", nullptr}, {"new", 2}});
    CHECK(stage.get<configure_reply>("w", what).retain == what.retain);
    CHECK(stage.count("w", "workspace.configured") == 1);
    CHECK(verifies(stage));
  }
  actor_stage stage{log};
  CHECK(stage.list().front().retain == json{{"turns", 2}, {"age_s", 0}});
  configure_workspace back;
  back.retain = {{"turns", nullptr}};
  CHECK(stage.get<configure_reply>("w", back).retain == json{{"age_s", 0}});
}

SCENARIO("no workspace is made by asking for a change of its rules") {
  actor_stage stage;
  CHECK(stage.ask("nobody", configure_workspace{}, false).error().code == errc::not_found);
}

SCENARIO("all workspaces together keep to a limit: the turns that ended first go, of whichever "
         "workspace") {
  auto log = std::make_shared<memory_log>();
  {
    actor_stage stage{log};
    const auto run_in = [&](const std::string& workspace) {
      const auto turn = stage.submit(workspace, "ok")->turn;
      REQUIRE(test::poll_until([&] { return stage.completed(workspace, turn, "succeeded"); }));
    };
    const auto bytes_of = [&](const std::string& workspace) {
      std::uint64_t sum = 0;
      for (const auto& e : stage.events(workspace))
        sum += e.data.size() + (e.raw ? e.raw->size() : 0);
      return sum;
    };
    for (int i = 0; i < 3; ++i)
      run_in("old");
    for (int i = 0; i < 3; ++i)
      run_in("new");
    const auto newer = bytes_of("new");
    stage.keep({}, newer + bytes_of("old") - 1);
    REQUIRE(test::poll_until([&] { return trimmed(stage, "old") > offset{0}; }));
    CHECK(trimmed(stage, "new") == offset{0});
    CHECK(verifies(stage, "old"));
    json told;
    for (const auto& e : stage.events("old"))
      if (e.type == "events.removed")
        told = parse_json(e.data).value();
    CHECK(told["reason"] == "total_bytes");
    CHECK(stage.metrics.expose().find("tidemark_log_bytes_removed_total{reason=\"total_bytes\"} 0")
          == std::string::npos);
    CHECK(stage.stop());
  }
  actor_stage again{log};
  again.keep({}, 1); // which no workspace can keep to
  REQUIRE(test::poll_until([&] {
    return trimmed(again, "new") > offset{0}
           && again.metrics.expose().find("tidemark_log_kept_beyond_bytes 0\n")
                == std::string::npos;
  }));
  CHECK(verifies(again, "old"));
  CHECK(verifies(again, "new"));
}
