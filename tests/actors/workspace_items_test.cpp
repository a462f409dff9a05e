// What becomes of the items of a turn that does not end by itself.
#include "tests/actors/core_run.hpp"

#include "agents/bounded_text.hpp"

#include <catch2/catch.hpp>

#include <functional>

using namespace tidemark;
using namespace tidemark::testing;
using namespace std::chrono_literals;

namespace {

agent_event event_of(const std::string& type, const std::string& data, shared_text raw = {}) {
  return {type, parse_json(data).value(), std::move(raw)};
}

agent_event opened(const std::string& id, const std::string& kind) {
  return event_of("item.started", R"({"item":{"id":")" + id + R"(","kind":")" + kind + R"("}})");
}

agent_event said(const std::string& id, const std::string& text) {
  return event_of("item.delta", R"({"item":")" + id + R"(","text":")" + text + R"("})");
}

agent_event closed(const std::string& id, const std::string& text, shared_text raw = {}) {
  return event_of("item.completed", R"({"item":{"id":")" + id + R"(","text":")" + text + R"("}})",
                  std::move(raw));
}

/// A message in the middle of a sentence, and a tool call that runs.
session_report in_the_middle(const std::string& turn) {
  auto report = started(turn);
  report.events = {opened("m", "message"), said("m", "half a "), said("m", "sent"),
                   opened("t", "tool_call")};
  return report;
}

/// What the agent still says while it dies: the rest, and its own ends of the items.
session_report last_words(const std::string& turn) {
  auto report = ended(turn, outcome::interrupted);
  report.events = {said("m", "ence"), closed("m", "half a sentence"), closed("t", ""),
                   opened("late", "message"), closed("late", "never mind")};
  report.exit.emplace();
  return report;
}

using ending = std::function<void(core_run&, const std::string& turn)>;

struct end_of_a_turn {
  const char* name;
  ending end;
};

const std::vector<end_of_a_turn> endings{
  {"cancel",
   [](core_run& run, const std::string& turn) {
     run.ask(cancel_turn{turn, "c"});
   }},
  {"cancel of whatever runs",
   [](core_run& run, const std::string&) { run.ask(cancel_current{"c"}); }},
  {"interrupt",
   [](core_run& run, const std::string& turn) {
     run.ask(interrupt_turn{turn, "c"});
   }},
  {"timeout",
   [](core_run& run, const std::string&) {
     run.pass(11s);
     run.tick();
   }},
  {"ordered stop",
   [](core_run& run, const std::string&) {
     run.take(on_shutdown(run.working, run.rules, run.clients, run.now));
   }},
  {"death of the process",
   [](core_run& run, const std::string& turn) {
     auto report = failed(turn, "NO_RESULT");
     report.exit.emplace();
     run.report(report);
   }},
  {"death of the session",
   [](core_run& run, const std::string& turn) {
     run.take(on_fault(run.working, run.rules, "agent_session", "it failed", run.now));
     run.report(failed(turn, "RUNTIME_UNAVAILABLE"));
   }},
  {"kill of the server", [](core_run& run, const std::string&) { run.restart(); }},
};

} // namespace

SCENARIO(
  "however a turn ends, its open items are completed once, before its end, with their text") {
  for (const auto& row : endings) {
    CAPTURE(row.name);
    core_run run;
    submit_turn what;
    what.prompt = "a";
    what.timeout = 10s;
    const auto turn = run.submit(what);
    run.report(in_the_middle(turn));
    row.end(run, turn);
    const auto asked_in_band = std::string_view{row.name} == "interrupt";
    if (!asked_in_band) {
      REQUIRE(run.of_type("turn.completed", turn).size() == 1);
      const auto message = parse_json(run.of_type("item.completed", turn).front().data).value();
      REQUIRE(message["item"]["text"] == "half a sent");
      REQUIRE(message["item"]["status"] == "interrupted");
      REQUIRE(message["synthetic"] == true);
      REQUIRE_FALSE(run.last("item.completed")["item"].contains("text")); // nobody said any
    }
    run.report(last_words(turn));
    REQUIRE(run.of_type("turn.completed", turn).size() == 1);
    REQUIRE(run.of_type("item.completed", turn).size() == (asked_in_band ? 3 : 2));
    check_items(run.stored);
  }
}

SCENARIO("what a stopped agent says too late is kept as a line, not as an item") {
  core_run run;
  const auto turn = run.submit("a");
  run.report(in_the_middle(turn));
  run.ask(cancel_turn{turn, "c"});
  auto late = last_words(turn);
  late.events = {closed("m", "half a sentence", std::make_shared<const std::string>("the line"))};
  run.report(late);
  REQUIRE(run.of_type("item.completed").size() == 2);
  const auto kept = run.of_type("agent.opaque");
  REQUIRE(kept.size() == 1);
  REQUIRE(*kept.front().raw == "the line");
  REQUIRE(kept.front().turn.empty());
  REQUIRE(run.last("agent.opaque")["late"] == true);
}

SCENARIO("a turn that is run again after the server's death closes what its first attempt left") {
  core_run run;
  submit_turn what;
  what.prompt = "a";
  what.on_restart = restart_rule::retry;
  const auto turn = run.submit(what);
  run.report(in_the_middle(turn));
  run.restart();
  REQUIRE(run.begun() == turn);
  REQUIRE(run.of_type("item.completed", turn).size() == 2);
  REQUIRE(run.stored.back().type == "turn.queued");
  run.report(in_the_middle(turn)); // another agent may even use the same ids
  auto rest = ended(turn);
  rest.events = {closed("m", "half a sentence"), closed("t", "")};
  run.report(rest);
  check_items(run.stored);
}

SCENARIO("a background item lives on over the end of a turn, and ends with its process") {
  core_run run;
  const auto turn = run.submit("a");
  run.report(started(turn));
  run.report(ended(turn));
  session_report background;
  background.events = {opened("b", "message"), said("b", "by the way")};
  run.report(background);

  WHEN("a turn is cancelled that ran meanwhile") {
    const auto next = run.submit("b");
    run.report(started(next));
    run.ask(cancel_turn{next, "c"});
    REQUIRE(run.of_type("item.completed").empty());
    auto last = ended(next, outcome::interrupted);
    last.events = {closed("b", "by the way, it rains")};
    last.exit.emplace();
    run.report(last);
    THEN("it ends with its own end, and still belongs to no turn") {
      REQUIRE(run.of_type("item.completed").size() == 1);
      REQUIRE(run.of_type("item.completed").front().turn.empty());
      check_items(run.stored);
    }
  }
  WHEN("the server is killed") {
    run.restart();
    THEN("it is interrupted, with its text") {
      REQUIRE(run.last("item.completed")["item"]["text"] == "by the way");
      check_items(run.stored);
    }
  }
}

SCENARIO("open items survive a snapshot, and one of an older version has none") {
  core_run run;
  const auto turn = run.submit("a");
  run.report(in_the_middle(turn));
  auto saved = parse_json(snapshot(run.working)).value();
  REQUIRE(restore(dump_json(saved)).value().open_items.at("m").text == "half a sent");
  REQUIRE(snapshot(restore(dump_json(saved)).value()) == snapshot(run.working));

  saved.erase("open_items");
  const auto old = restore(dump_json(saved));
  REQUIRE(old);
  REQUIRE(old->open_items.empty());
  REQUIRE(old->running->turn == turn);
}

SCENARIO("an item's text that outgrows an event is cut and says so") {
  core_run run;
  const auto turn = run.submit("a");
  auto report = started(turn);
  report.events = {opened("m", "message")};
  run.report(report);
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 5; ++i) {
    session_report more;
    more.turn = turn;
    more.events = {said("m", megabyte)};
    run.report(more);
  }
  run.ask(cancel_turn{turn, "c"});
  const auto item = run.last("item.completed")["item"];
  REQUIRE(string_or(item, "text").size() == max_event_text);
  REQUIRE(item["truncated"] == true);
  REQUIRE(item["size"] == 5 * megabyte.size());
}

SCENARIO("a log of an older version, whose turns left items open, gains no late ends") {
  core_run run;
  const auto turn = run.submit("a");
  run.report(in_the_middle(turn));
  run.ask(cancel_turn{turn, "c"});
  workspace_state state;
  for (const auto& e : run.stored)
    if (e.type != "item.completed")
      evolve(state, event_view::of(e));
  REQUIRE(state.open_items.empty());
  state.head = offset{run.stored.size()};
  REQUIRE(on_recovered(state, run.rules, run.now).events.empty());
}

SCENARIO("a long text in small deltas costs its snapshots no more than its events") {
  core_run run;
  const auto turn = run.submit("a");
  auto report = started(turn);
  report.events = {opened("m", "message")};
  auto out = decide(run.working, run.rules, report, run.clients, run.now);
  std::size_t event_bytes = 0;
  std::size_t snapshot_bytes = 0;
  for (int i = 0; i < 20'000; ++i) {
    session_report more;
    more.turn = turn;
    more.events = {said("m", std::string(100, 'x'))};
    out = decide(run.working, run.rules, more, run.clients, run.now);
    for (const auto& e : out.events)
      event_bytes += e.type.size() + e.turn.size() + e.data.size();
    for (const auto& write : out.derived)
      snapshot_bytes += write.value ? write.value->size() : 0;
  }
  REQUIRE(snapshot_bytes > 0);
  REQUIRE(snapshot_bytes < 5 * event_bytes);
}
