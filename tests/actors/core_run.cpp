#include "tests/actors/core_run.hpp"

#include <catch2/catch.hpp>

namespace tidemark::testing {

core_run::core_run() {
  working.id = "w";
  working.stream = stream_id{7};
  working.incarnation = epoch{1};
  take(create(working, rules, now));
}

void core_run::take(decided out) {
  for (auto& e : out.events) {
    event full;
    full.workspace = "w";
    full.stream = working.stream;
    full.incarnation = working.incarnation;
    full.at = offset{stored.size() + 1};
    full.global = position{stored.size() + 100};
    full.time = e.time;
    full.type = e.type;
    full.turn = e.turn;
    full.data = e.data;
    full.raw = e.raw;
    if (!stored.empty())
      REQUIRE(stored.back().time <= full.time);
    evolve(replica, event_view::of(full));
    stored.push_back(std::move(full));
  }
  REQUIRE(working.head.value == stored.size());
  REQUIRE(snapshot(replica) == snapshot(working));
  for (auto& write : out.derived) {
    auto& into = write.in == table::turns ? turns : meta;
    if (write.value)
      into[write.key] = *write.value;
    else
      into.erase(write.key);
  }
  effects = std::move(out.effects);
  reply = std::move(out.reply);
}

workspace_state core_run::replayed() const {
  workspace_state state;
  for (const auto& e : stored)
    evolve(state, event_view::of(e));
  return state;
}

void core_run::restart() {
  clients.clear();
  const auto saved = meta.find(record_key::snapshot(working.stream));
  working = workspace_state{};
  if (saved != meta.end())
    working = restore(saved->second).value();
  for (const auto& e : stored)
    if (e.at > working.head)
      evolve(working, event_view::of(e));
  REQUIRE(snapshot(working) == snapshot(replayed()));
  take(on_recovered(working, rules, now));
}

std::string core_run::new_turn() {
  auto text = std::to_string(next_id++);
  return "turn-" + std::string(6 - text.size(), '0') + text;
}

std::string core_run::submit(submit_turn what) {
  ask(what);
  return answered<submit_reply>().turn;
}

std::string core_run::submit(const std::string& prompt) {
  submit_turn what;
  what.prompt = prompt;
  return submit(std::move(what));
}

std::string core_run::submit_held(const std::string& prompt) {
  submit_turn what;
  what.prompt = prompt;
  what.holds_result = true;
  return submit(std::move(what));
}

std::optional<session_begin> core_run::begin() const {
  for (const auto& e : effects)
    if (const auto* start = std::get_if<start_turn>(&e))
      return start->begin;
  return std::nullopt;
}

std::string core_run::begun() const {
  const auto start = begin();
  return start ? start->turn : std::string{};
}

std::optional<stop_force> core_run::stopped() const {
  for (const auto& e : effects)
    if (const auto* stop = std::get_if<stop_turn>(&e))
      return stop->how;
  return std::nullopt;
}

std::vector<event> core_run::of_type(std::string_view type, std::string_view turn) const {
  std::vector<event> out;
  for (const auto& e : stored)
    if (e.type == type && (turn.empty() || e.turn == turn))
      out.push_back(e);
  return out;
}

json core_run::last(std::string_view type) const {
  const auto all = of_type(type);
  REQUIRE(!all.empty());
  return parse_json(all.back().data).value();
}

void check_items(const std::vector<event>& events) {
  struct item {
    std::string turn;
    std::string text;
  };
  std::map<std::string, item> open;
  std::set<std::string> over;
  for (const auto& e : events) {
    CAPTURE(e.at.value, e.type, e.turn, e.data);
    if (!e.type.starts_with("result."))
      REQUIRE_FALSE(over.contains(e.turn));
    const auto data = parse_json(e.data).value();
    const auto& whole = object_at(data, "item");
    const auto id = string_or(whole, "id", string_or(data, "item"));
    if (e.type == "item.started") {
      REQUIRE_FALSE(open.contains(id));
      open[id] = item{e.turn, {}};
    } else if (e.type.starts_with("item.")) {
      REQUIRE(open.contains(id));
      REQUIRE(open[id].turn == e.turn);
      open[id].text += string_or(data, "text");
      if (e.type == "item.completed") {
        if (bool_or(data, "synthetic", false))
          REQUIRE(string_or(whole, "text") == open[id].text);
        open.erase(id);
      }
    } else if (e.type == "turn.completed") {
      over.insert(e.turn);
      for (const auto& [name, each] : open)
        REQUIRE(each.turn != e.turn);
    }
  }
  REQUIRE(open.empty());
}

session_report started(const std::string& turn, const std::string& session) {
  session_report r;
  r.turn = turn;
  session_started how;
  how.agent = "demo";
  how.version = "1";
  how.pid = 42;
  how.start = "cold";
  r.started = how;
  if (!session.empty())
    r.session = session;
  return r;
}

session_report ended(const std::string& turn, outcome how, const std::string& text) {
  session_report r;
  r.turn = turn;
  turn_result result;
  result.how = how;
  result.text = text;
  if (how != outcome::succeeded)
    result.why = turn_error{"CLAUDE_CLI_ERROR_RESULT", "it failed", false, json::object()};
  r.end = result;
  return r;
}

session_report failed(const std::string& turn, const std::string& code,
                      const std::string& message) {
  auto r = ended(turn, outcome::failed, "");
  r.end->why = turn_error{code, message, false, json::object()};
  return r;
}

} // namespace tidemark::testing
