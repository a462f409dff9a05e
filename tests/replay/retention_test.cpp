// Which turns and deltas are to be removed, for any stream.
#include "replay/retention.hpp"

#include "tests/replay/written_stream.hpp"
#include "tests/support/seed.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

using namespace tidemark;
using namespace tidemark::testing;
using namespace std::chrono_literals;

namespace {

retention_rules keep_turns(std::uint64_t count) {
  retention_rules rules;
  rules.turns = count;
  return rules;
}

} // namespace

SCENARIO("without a rule nothing goes") {
  written_stream s;
  for (const auto* turn : {"1", "2", "3"})
    s.whole(turn);
  CHECK(retention_rules{}.keep_all());
  CHECK_FALSE(plan_trim(s.outline, {}, s.now.plus(10'000h)));
  CHECK_FALSE(plan_deltas(s.outline, {}, s.now.plus(10'000h)));
}

SCENARIO("the oldest turns beyond a number go, whole and in one stretch") {
  written_stream s;
  s.whole("1");
  const auto cut = s.whole("2");
  s.whole("3");
  s.whole("4");
  const auto plan = plan_trim(s.outline, keep_turns(2), s.now);
  REQUIRE(plan);
  CHECK(plan->note.what == removal_kind::turns);
  CHECK(plan->note.from == offset{1});
  CHECK(plan->note.to == cut);
  CHECK(plan->note.count == cut.value);
  CHECK(plan->note.reason == "turns");
  CHECK(plan->note.hash == s.events[cut.value - 1].hash);
  CHECK(plan->note.policy == json{{"turns", 2}});
  CHECK_FALSE(plan_trim(s.outline, keep_turns(4), s.now));
  s.outline.forget_events(cut);
  CHECK_FALSE(plan_trim(s.outline, keep_turns(2), s.now));
}

SCENARIO("turns go by age, and by bytes; never the last") {
  written_stream s;
  const auto first = s.whole("1");
  s.now = s.now.plus(24h);
  const auto second = s.whole("2");
  s.now = s.now.plus(24h);
  s.whole("3");
  retention_rules rules;
  rules.age = 36h;
  const auto by_age = plan_trim(s.outline, rules, s.now);
  REQUIRE(by_age);
  CHECK(by_age->note.to == first);
  CHECK(by_age->note.reason == "age");
  CHECK(by_age->until == start);
  rules = {};
  rules.bytes = 1;
  const auto by_bytes = plan_trim(s.outline, rules, s.now);
  REQUIRE(by_bytes);
  CHECK(by_bytes->note.to == second);
  CHECK(by_bytes->note.reason == "bytes");
  CHECK(by_bytes->note.bytes == s.outline.bytes_up_to(s.outline.turns()[1]));
  rules.bytes = s.outline.bytes();
  CHECK_FALSE(plan_trim(s.outline, rules, s.now));
}

SCENARIO("a turn whose result is not delivered stays, and what comes after it") {
  written_stream s;
  const auto first = s.whole("1");
  s.whole("2", true);
  const auto third = s.whole("3");
  s.whole("4");
  const auto plan = plan_trim(s.outline, keep_turns(1), s.now);
  REQUIRE(plan);
  CHECK(plan->note.to == first);
  s.add("result.pending", "2", {{"turn", "2"}});
  CHECK(plan_trim(s.outline, keep_turns(1), s.now)->note.to == first);
  const auto delivered = s.add("result.delivered", "2", {{"turn", "2"}});
  // Its last event lies behind turn 4, which stays: that is left for a later cut.
  CHECK(plan_trim(s.outline, keep_turns(1), s.now)->note.to == third);
  s.whole("5");
  CHECK(plan_trim(s.outline, keep_turns(1), s.now)->note.to == delivered);
}

SCENARIO("a turn that was queued while another ran goes with it or stays with it") {
  written_stream s;
  s.queue("1");
  s.queue("2");
  s.end("1");
  CHECK_FALSE(plan_trim(s.outline, keep_turns(1), s.now));
  const auto end = s.end("2");
  CHECK_FALSE(plan_trim(s.outline, keep_turns(1), s.now));
  s.whole("3");
  CHECK_FALSE(plan_trim(s.outline, keep_turns(2), s.now));
  CHECK(plan_trim(s.outline, keep_turns(1), s.now)->note.to == end);
}

SCENARIO(
  "a workspace whose queue is never empty is cut before the next turn, if that is worth it") {
  written_stream s;
  s.queue("0");
  std::vector<offset> begins;
  for (int i = 1; i <= 20; ++i) { // each is queued while the one before runs
    const auto before = std::to_string(i - 1);
    s.start_item("i" + before, before);
    begins.push_back(s.queue(std::to_string(i)));
    s.delta("i" + before, before);
    s.end_item("i" + before, before);
    s.end(before);
  }
  const auto plan = plan_trim(s.outline, keep_turns(11), s.now);
  REQUIRE(plan);
  CHECK(plan->note.to == offset{begins[9].value - 1}); // turns 0 to 9 go, turn 10 stays whole
  CHECK(plan->note.hash == s.events[plan->note.to.value - 1].hash);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < plan->note.to.value; ++i)
    bytes += s.events[i].data.size() + s.events[i].raw->size();
  CHECK(plan->note.bytes == bytes);
  const auto all = s.outline.bytes();
  s.outline.forget_events(plan->note.to);
  CHECK(s.outline.turns().front().id == "10");
  CHECK(s.outline.bytes() == all - bytes);
  // What is made of the events that are left is the same.
  stream_outline anew{plan->note.to};
  for (auto i = plan->note.to.value; i < s.events.size(); ++i)
    anew.add(event_view::of(s.events[i]));
  CHECK(anew.bytes() == s.outline.bytes());
  CHECK(anew.turns().size() == s.outline.turns().size());
  for (const auto* outline : {&s.outline, &anew}) {
    const auto next = plan_trim(*outline, keep_turns(1), s.now);
    REQUIRE(next);
    CHECK(next->note.to == offset{begins[19].value - 1});
  }
}

SCENARIO("turns that were all queued at once go together, not one by one without their ends") {
  written_stream s;
  for (const auto* turn : {"1", "2", "3", "4"})
    s.queue(turn);
  for (const auto* turn : {"1", "2", "3"}) {
    s.start_item(turn, turn);
    s.end_item(turn, turn);
    s.end(turn);
  }
  CHECK_FALSE(plan_trim(s.outline, keep_turns(1), s.now));
  const auto end = s.end("4");
  s.whole("5");
  CHECK(plan_trim(s.outline, keep_turns(1), s.now)->note.to == end);
}

SCENARIO("deltas go once their item is complete and their turn ended long ago, and only once") {
  written_stream s;
  s.whole("1");
  s.now = s.now.plus(48h);
  s.whole("2");
  retention_rules rules;
  rules.deltas = 24h;
  const auto plan = plan_deltas(s.outline, rules, s.now);
  REQUIRE(plan);
  CHECK(plan->note.from == offset{3});
  CHECK(plan->note.to == offset{4});
  CHECK(plan->note.count == 2);
  CHECK(plan->note.reason == "deltas");
  CHECK_FALSE(plan->note.hash);
  const auto before = s.outline.bytes();
  s.outline.forget_deltas(plan->note.to);
  CHECK(s.outline.bytes() == before - plan->note.bytes);
  CHECK_FALSE(plan_deltas(s.outline, rules, s.now));
}

SCENARIO("what an open item has said stays until it is complete") {
  written_stream s;
  s.whole("1");
  s.start_item("late", "");
  s.delta("late", "");
  s.whole("2");
  retention_rules rules;
  rules.deltas = 1h;
  s.now = s.now.plus(2h);
  CHECK(plan_deltas(s.outline, rules, s.now)->note.count == 4);
  CHECK(s.outline.is_open("late"));
  s.end_item("late", "");
  s.whole("3");
  s.now = s.now.plus(2h);
  CHECK(plan_deltas(s.outline, rules, s.now)->note.count == 7);
  CHECK_FALSE(s.outline.is_open("late"));
}

SCENARIO("a removal that was told and cut short is owed, whatever the rules say now") {
  written_stream s;
  const auto first = s.whole("1");
  s.whole("2");
  s.add("events.removed", "", to_json(plan_trim(s.outline, keep_turns(1), s.now)->note));
  CHECK(s.outline.owed_trim() == first);
  s.outline.forget_events(offset{first.value - 1});
  CHECK(s.outline.owed_trim() == first);
  s.outline.forget_events(first);
  CHECK_FALSE(s.outline.owed_trim());

  retention_rules rules;
  rules.deltas = 1h;
  s.now = s.now.plus(2h);
  const auto plan = plan_deltas(s.outline, rules, s.now);
  REQUIRE(plan);
  CHECK_FALSE(s.outline.owed_deltas());
  s.add("events.removed", "", to_json(plan->note));
  REQUIRE(s.outline.owed_deltas());
  CHECK(s.outline.owed_deltas()->first == plan->note.from);
  CHECK(s.outline.owed_deltas()->second == plan->note.to);
  s.outline.forget_deltas(plan->note.to);
  CHECK_FALSE(s.outline.owed_deltas());
}

SCENARIO("a workspace's own rules go before the server's, one by one") {
  retention_rules defaults;
  defaults.age = 24h;
  defaults.turns = 100;
  const auto own = rules_with(defaults, {{"turns", 5}, {"bytes", nullptr}, {"deltas_s", 60}});
  CHECK(own.age == 24h);
  CHECK(own.turns == 5);
  CHECK(own.deltas == 60s);
  CHECK(rules_with(defaults, {{"turns", 0}, {"age_s", 0}}).keep_all());
  CHECK(rules_with({}, to_json(own)) == own);
  const auto described = describe_retention(defaults, {{"turns", 5}, {"age_s", 0}});
  CHECK(described["own"] == json{{"turns", 5}, {"age_s", 0}});
  CHECK(described["server"]["age_s"] == 86'400);
  CHECK(described["server"]["bytes"].is_null());
  CHECK(described["effective"]["age_s"].is_null());
  CHECK(described["effective"]["turns"] == 5);
}

SCENARIO("rules are written as numbers or as settings have them, and nothing else is taken") {
  const auto stored = [](const char* given) {
    return parse_retention(parse_json(given).value()).value_or("refused");
  };
  CHECK(
    stored(R"({"age":"30d","bytes":"10GB","turns":5,"deltas":"12h"})")
    == json{{"age_s", 2'592'000}, {"bytes", 10'000'000'000}, {"turns", 5}, {"deltas_s", 43'200}});
  CHECK(stored(R"({"age_s":60,"bytes":1024,"deltas_s":0})")
        == json{{"age_s", 60}, {"bytes", 1024}, {"deltas_s", 0}});
  CHECK(stored(R"({"age":null,"turns":null})") == json{{"age_s", nullptr}, {"turns", nullptr}});
  CHECK(stored(R"({"age":"0s","bytes":"0"})") == json{{"age_s", 0}, {"bytes", 0}});
  CHECK(stored("{}") == json::object());
  CHECK(stored(R"({"bytes":9223372036854775807})") == json{{"bytes", 9'223'372'036'854'775'807}});
  for (const auto* bad : {R"({"turns":-1})",
                          R"({"turns":"5"})",
                          R"({"turns":1.5})",
                          R"({"rounds":5})",
                          "[]",
                          "null",
                          R"({"age":30})",
                          R"({"age":"30"})",
                          R"({"age":"1500ms"})",
                          R"({"age":"-1d"})",
                          R"({"age_s":"30d"})",
                          R"({"age":"30d","age_s":1})",
                          R"({"deltas_s":1,"deltas":null})",
                          R"({"bytes":18446744073709551615})",
                          R"({"bytes":"18446744073709551615"})",
                          R"({"bytes":"9223372036854775808"})",
                          R"({"bytes":"10 furlongs"})",
                          R"({"age":true})",
                          R"({"age":""})",
                          R"({"total_bytes":1})"}) {
    CAPTURE(bad);
    const auto refused = parse_retention(parse_json(bad).value());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::invalid_argument);
  }
  CHECK(parse_retention({{"age", 3}}).error().message.find("\"30d\"") != std::string::npos);
}

SCENARIO("no plan ever touches a turn that is unfinished, undelivered or the last, and parts of "
         "one only before "
         "the next") {
  const auto seed = test::test_seed("retention");
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 200; ++round) {
    written_stream s;
    std::deque<std::string> queued;
    std::vector<std::string> owing;
    std::map<std::string, std::set<std::uint64_t>> offsets; // of every turn
    std::set<std::string> settled;
    std::string last_turn;
    const auto note = [&](const std::string& turn, offset at) { offsets[turn].insert(at.value); };
    int made = 0;
    for (int step = 0; step < 60; ++step) {
      s.now = s.now.plus(std::chrono::minutes{below(100)});
      const auto what = below(6);
      if (what <= 1) {
        last_turn = std::to_string(made++);
        const auto held = below(3) == 0;
        if (held)
          owing.push_back(last_turn);
        note(last_turn, s.queue(last_turn, held));
        queued.push_back(last_turn);
      } else if (what == 2 && !queued.empty()) {
        note(queued.front(), s.start_item("i" + queued.front(), queued.front()));
        note(queued.front(), s.delta("i" + queued.front(), queued.front()));
        note(queued.front(), s.end_item("i" + queued.front(), queued.front()));
      } else if (what == 3 && !queued.empty()) {
        const auto which = static_cast<std::ptrdiff_t>(below(4) == 0 ? below(queued.size()) : 0);
        const auto turn = queued[static_cast<std::size_t>(which)];
        note(turn, s.end(turn, which == 0 ? "succeeded" : "cancelled"));
        queued.erase(queued.begin() + which);
        if (which != 0)
          std::erase(owing, turn);
        if (std::ranges::find(owing, turn) == owing.end())
          settled.insert(turn);
      } else if (what == 4 && !owing.empty()) {
        const auto turn = owing[below(owing.size())];
        if (std::ranges::find(queued, turn) == queued.end()) {
          note(turn, s.add("result.delivered", turn, {{"turn", turn}}));
          std::erase(owing, turn);
          settled.insert(turn);
        }
      } else if (what == 5) {
        s.add("shell.opened", "", {{"shell", "s"}});
      }
      retention_rules rules;
      rules.turns = below(3) == 0 ? below(5) : 0;
      rules.age = std::chrono::minutes{below(2) == 0 ? below(300) : 0};
      rules.bytes = below(3) == 0 ? below(2000) : 0;
      const auto plan = plan_trim(s.outline, rules, s.now);
      if (!plan)
        continue;
      const auto to = plan->note.to.value;
      REQUIRE(to < s.events.size());
      REQUIRE(plan->note.from == s.outline.trimmed().next());
      REQUIRE(plan->note.hash == s.events[to - 1].hash);
      std::uint64_t next_begins = 0; // of the first turn that stays whole
      bool whole = true;
      for (const auto& [turn, at] : offsets) {
        if (*at.begin() > to) {
          next_begins = next_begins == 0 ? *at.begin() : std::min(next_begins, *at.begin());
          continue;
        }
        CAPTURE(turn);
        REQUIRE(settled.contains(turn));
        REQUIRE(turn != last_turn);
        whole = whole && *at.rbegin() <= to;
      }
      REQUIRE(next_begins > to);
      if (!whole)
        REQUIRE(next_begins == to + 1);
      if (below(2) == 0) {
        s.outline.forget_events(plan->note.to);
        // What is left of turns that were cut is no turn any more.
        std::erase_if(offsets, [&](const auto& each) { return *each.second.begin() <= to; });
      }
    }
  }
}
