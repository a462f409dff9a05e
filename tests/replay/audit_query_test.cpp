#include "replay/audit_query.hpp"

#include "replay/audit_terms.hpp"
#include "storage/memory_log.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <span>

using namespace tidemark;

namespace {

using positions = std::vector<std::uint64_t>;

constexpr timestamp noon{1'764'504'000'000'000'000};

/// A log of events like those of a server, and a naive look through them.
struct audited_log {
  std::unique_ptr<event_log> log = make_memory_log();

  void append(const std::string& workspace, const std::string& type, const std::string& turn,
              const std::string& data, std::int64_t second) {
    const auto stream = *log->acquire(workspace);
    new_event e{type, turn, noon.plus(std::chrono::seconds{second}), data};
    e.terms = audit_terms(workspace, type, turn, *parse_json(data));
    const append_request request{stream.id, stream.incarnation, stream.head, {e}};
    REQUIRE(log->commit(std::span{&request, 1})[0]);
  }

  [[nodiscard]] positions naive(const audit_filter& filter) const {
    positions out;
    const audit_matcher matches{filter};
    const auto visit = [&](const event_view& e) {
      if (matches(e))
        out.push_back(e.global.value);
      return true;
    };
    REQUIRE(log->read_all(position{1}, {SIZE_MAX, SIZE_MAX, false}, visit));
    return out;
  }

  [[nodiscard]] positions asked(const audit_filter& filter, direction way,
                                std::size_t at_a_time) const {
    audit_query query{*log, filter, way};
    positions out;
    auto from = *query.start();
    for (int calls = 0; calls < 10'000; ++calls) {
      const auto visit = [&](const event_view& e) {
        out.push_back(e.global.value);
        return out.size() % 3 != 0; // a reader whose page is full
      };
      const auto read = query.read(from, {at_a_time, SIZE_MAX, false}, visit);
      REQUIRE(read);
      if (read->reached_end)
        return out;
      from = read->next;
    }
    FAIL("the question has no end");
    return out;
  }
};

} // namespace

SCENARIO("an event's terms name its type, workspace, turn, tool and outcome") {
  const auto terms = [](std::string_view type, const char* data) {
    return audit_terms("demo", type, "t1", *parse_json(data));
  };
  using words = std::vector<std::string>;
  CHECK(terms("turn.completed", R"({"outcome":"failed"})")
        == words{"type:turn.completed", "workspace:demo", "turn:t1", "outcome:failed"});
  CHECK(terms("item.started", R"({"item":{"kind":"tool_call","name":"Bash"}})")
        == words{"type:item.started", "workspace:demo", "turn:t1", "tool:Bash"});
  CHECK(terms("item.started", R"({"item":{"kind":"message","name":"Bash"}})")
        == words{"type:item.started", "workspace:demo", "turn:t1"});
  CHECK(terms("permission.requested", R"({"tool":"Bash"})").back() == "tool:Bash");
  CHECK(terms("item.delta", R"({"text":"x"})").empty());
  const auto odd = audit_term::tool(std::string(1000, 'x') + '\0');
  CHECK(odd.size() == 5 + audit_term::max_value_bytes);
  CHECK(audit_term::tool(std::string_view{"a\0b", 3}) == "tool:a b");
}

SCENARIO("a question finds what a look through the whole log finds, both ways and in stretches") {
  const auto seed = GENERATE(1U, 2U, 3U);
  std::mt19937 random{seed};
  const auto one_of = [&](const std::vector<std::string>& all) {
    return all[random() % all.size()];
  };
  const std::vector<std::string> workspaces{"demo", "other", "third"};
  const std::vector<std::string> turns{"t1", "t2", "t3", "t4", "t5", "t6"};
  const std::vector<std::string> tools{"Bash", "Read", "mcp__x__y"};
  const std::vector<std::string> outcomes{"succeeded", "failed"};
  const std::vector<std::string> texts{"plain", "Grüße \"you\"", "line\nbreak"};
  const std::vector<std::string> types{"item.delta", "item.started", "turn.completed",
                                       "permission.requested", "agent.noise"};
  audited_log audited;
  std::map<std::string, bool> ended; // by turn, of those that have begun
  for (int i = 0; i < 300; ++i) {
    const auto turn = one_of({"", "t1", "t2", "t3", "t4", "t5", "t6"});
    auto type = one_of(types);
    if (turn.empty() && type == "turn.completed")
      type = "agent.noise";
    if (!turn.empty() && !ended.contains(turn))
      type = "turn.queued";
    else if (!turn.empty() && ended[turn])
      type = "result.delivered";
    if (!turn.empty())
      ended[turn] = ended[turn] || (type == "turn.completed" && random() % 3 == 0);
    if (type == "turn.completed" && !ended[turn])
      type = "item.delta";
    auto data = json::object();
    data["text"] = one_of(texts);
    if (type == "turn.completed")
      data["outcome"] = one_of(outcomes);
    if (type == "permission.requested")
      data["tool"] = one_of(tools);
    if (type == "item.started") {
      data["item"] = json::object();
      data["item"]["kind"] = "tool_call";
      data["item"]["name"] = one_of(tools);
    }
    audited.append(one_of(workspaces), type, turn, dump_json(data), i);
  }
  for (int question = 0; question < 60; ++question) {
    audit_filter filter;
    const auto maybe = [&] { return random() % 3 == 0; };
    if (maybe())
      filter.types = {one_of(types), one_of({"item.*", "turn.*", "none.*", "turn.completed"})};
    if (maybe())
      filter.workspaces = {one_of(workspaces), one_of(workspaces)};
    if (maybe())
      filter.turn = one_of(turns);
    if (maybe())
      filter.tool = one_of(tools);
    if (maybe())
      filter.outcome = one_of(outcomes);
    if (maybe())
      filter.text = one_of({"plain", "\"you\"", "line\nbreak", "nowhere"});
    if (maybe())
      filter.since = noon.plus(std::chrono::seconds{random() % 300});
    if (maybe())
      filter.until = noon.plus(std::chrono::seconds{random() % 300});
    auto expected = audited.naive(filter);
    const auto at_a_time = 1 + random() % 60;
    CHECK(audited.asked(filter, direction::oldest_first, at_a_time) == expected);
    std::ranges::reverse(expected);
    CHECK(audited.asked(filter, direction::newest_first, at_a_time) == expected);
  }
}

SCENARIO("what is committed while a question is asked is left to the next one, whatever its type") {
  audited_log audited;
  audited.append("demo", "turn.queued", "t", "{}", 1);
  audit_filter filter;
  SECTION("of a family of which the log had no such type") {
    filter.types = {"turn.*"};
  }
  SECTION("of a turn that the log did not know") {
    filter.turn = "t2";
  }
  audit_query query{*audited.log, filter, direction::oldest_first};
  const auto start = *query.start();
  audited.append("demo", "turn.started", "t2", "{}", 2);
  const auto all = [](const event_view&) { return true; };
  const auto first = query.read(start, {SIZE_MAX, SIZE_MAX, false}, all);
  REQUIRE(first);
  CHECK(first->reached_end);
  positions later;
  const auto note = [&](const event_view& e) {
    later.push_back(e.global.value);
    return true;
  };
  audit_query next{*audited.log, filter, direction::oldest_first};
  REQUIRE(next.read(first->next, {SIZE_MAX, SIZE_MAX, false}, note));
  CHECK(later == positions{2});
}

SCENARIO("a selective question looks at no more than what it finds") {
  audited_log audited;
  for (int i = 0; i < 5000; ++i)
    audited.append("demo", i % 1000 == 0 ? "turn.completed" : "item.started", "t", "{}", i);
  audit_filter filter;
  filter.types = {"turn.completed"};
  audit_query query{*audited.log, filter, direction::oldest_first};
  const auto read =
    query.read(*query.start(), {SIZE_MAX, SIZE_MAX, false}, [](const event_view&) { return true; });
  REQUIRE(read);
  CHECK(read->looked_at == 5);
  CHECK(read->reached_end);
}
