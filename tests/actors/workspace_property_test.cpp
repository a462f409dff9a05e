#include "tests/actors/core_run.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

using namespace tidemark;
using namespace tidemark::testing;
using namespace std::chrono_literals;

namespace {

/// A session as the core knows it: told to begin, it reports a start, output and exactly one end.
struct model_session {
  std::string turn;
  std::string resume;
  bool reported_start = false;
  bool told_to_stop = false;
};

/// Random clients, agents and crashes against one core.
class random_history {
public:
  explicit random_history(unsigned seed) : random_(seed) {
    run_.rules.snapshot_every = 40;
    run_.rules.max_idempotency_keys = 5;
    run_.rules.rights = policy::strict;
    run_.rules.ask = static_cast<ask_people>(seed % 3);
    run_.rules.permission_timeout = 5s;
  }

  void play(int steps) {
    for (int i = 0; i < steps; ++i) {
      run_.pass(std::chrono::milliseconds{pick(3000)});
      step();
      obey();
    }
    drain();
    check();
  }

private:
  int pick(int below) { return std::uniform_int_distribution<int>{0, below - 1}(random_); }
  bool chance(int percent) { return pick(100) < percent; }

  std::string some_turn() {
    return accepted_.empty()
             ? "none"
             : accepted_[static_cast<std::size_t>(pick(static_cast<int>(accepted_.size())))];
  }

  std::string recent_turn() {
    if (accepted_.empty())
      return "none";
    const auto back =
      std::min<std::size_t>(accepted_.size(), static_cast<std::size_t>(pick(4)) + 1);
    return accepted_[accepted_.size() - back];
  }

  void step() {
    switch (pick(20)) {
    case 0:
    case 1:
    case 2:
    case 3: submit(); break;
    case 4: run_.ask(cancel_current{"c"}); break;
    case 5: run_.ask(cancel_turn{recent_turn(), "c"}); break;
    case 6: run_.ask(interrupt_turn{recent_turn(), "c"}); break;
    case 7: run_.ask(reset_session{"c"}); break;
    case 8: run_.ask(client_left{recent_turn()}); break;
    case 9: receive(some_turn()); break;
    case 10: run_.ask(settle_pending{{some_turn(), some_turn()}, "poll", "bot"}); break;
    case 11: run_.tick(); break;
    case 12:
      if (chance(20))
        restart();
      break;
    case 13:
      if (chance(10)) {
        run_.take(on_shutdown(run_.working, run_.rules, run_.clients, run_.now));
        restart();
      }
      break;
    case 14: run_.ask(get_queue{}); break;
    case 15: decide(); break;
    default: progress();
    }
  }

  void submit() {
    submit_turn what;
    what.prompt = "p" + std::to_string(pick(1000));
    what.holds_result = chance(60);
    if (chance(20))
      what.on_restart = restart_rule::retry;
    if (chance(20))
      what.timeout = std::chrono::seconds{1 + pick(20)};
    if (chance(20))
      what.environment = {{"KEY", "secret-value"}};
    if (chance(30)) {
      what.idempotency_key = "k" + std::to_string(pick(8));
      what.body_hash = "h" + std::to_string(pick(2));
    }
    run_.ask(what);
    if (*run_.reply && !run_.answered<submit_reply>().repeated)
      accepted_.push_back(run_.answered<submit_reply>().turn);
  }

  void decide() {
    decide_permission what;
    what.permission = "p" + std::to_string(std::max(1, next_permission_ - 1 - pick(3)));
    what.what = static_cast<person_decision>(pick(3));
    what.by = "c";
    run_.ask(what);
    const auto& rules = run_.working.permission_rules;
    if (!rules.empty() && chance(50))
      run_.ask(remove_rule{rules.front().id, "c"});
  }

  /// A client has the whole stream only once the turn is over.
  void receive(const std::string& turn) {
    if (run_.clients.contains(turn) && !run_.of_type("turn.completed", turn).empty())
      run_.ask(client_received{turn});
  }

  void restart() {
    session_.reset();
    run_.restart();
  }

  void progress() {
    if (!session_) {
      if (chance(50)) {
        session_report background;
        add_output(background);
        if (chance(10))
          background.exit.emplace();
        run_.report(background);
      }
      return;
    }
    session_report report;
    report.turn = session_->turn;
    if (!session_->reported_start && chance(80)) {
      report = started(session_->turn, chance(50) ? "s" + std::to_string(pick(100)) : "");
      session_->reported_start = true;
    }
    add_output(report);
    if (!chance(session_->told_to_stop ? 60 : 30))
      return run_.report(report);
    report.end = some_end();
    if (chance(30))
      report.exit.emplace();
    session_.reset();
    run_.report(report);
  }

  void add_output(session_report& report) {
    const auto id = "i" + std::to_string(pick(5));
    if (chance(40))
      report.events.push_back(
        {"item.started", parse_json("{\"item\":{\"id\":\"" + id + "\"}}").value(), {}});
    if (chance(40))
      report.events.push_back(
        {"item.delta", parse_json("{\"item\":\"" + id + "\",\"text\":\"x\"}").value(), {}});
    if (chance(30))
      report.events.push_back(
        {"item.completed", parse_json("{\"item\":{\"id\":\"" + id + "\"}}").value(), {}});
    if (chance(20)) {
      const auto permission = "p" + std::to_string(next_permission_++);
      json data = json::object();
      data["permission"] = permission;
      report.events.push_back({"permission.requested", data, {}});
      if (chance(70))
        report.asks.push_back(
          {permission, "Bash", json::object({{"command", std::to_string(pick(3))}})});
    }
  }

  turn_result some_end() {
    if (chance(50))
      return *ended("", outcome::succeeded).end;
    if (chance(40))
      return *failed("", "AUTHENTICATION_FAILED").end;
    auto result = *ended("", outcome::failed).end;
    result.session_lost = chance(50);
    return result;
  }

  void obey() {
    for (const auto& each : run_.effects) {
      if (const auto* start = std::get_if<start_turn>(&each)) {
        REQUIRE_FALSE(session_); // the old turn must have ended first
        session_ = model_session{start->begin.turn, start->begin.resume, false, false};
      }
      if (std::get_if<stop_turn>(&each)) {
        REQUIRE(session_);
        session_->told_to_stop = true;
      }
    }
    run_.effects.clear();
  }

  void drain() {
    for (int i = 0; i < 10'000 && (run_.working.busy() || session_); ++i) {
      run_.pass(61s);
      run_.tick();
      obey();
      progress();
      obey();
    }
    const auto clients = run_.clients;
    for (const auto& turn : clients)
      run_.ask(client_left{turn});
    session_report last;
    last.exit.emplace();
    run_.report(last);
  }

  void check() {
    check_items(run_.stored);
    REQUIRE(run_.working.open_items.empty());
    REQUIRE_FALSE(run_.working.busy());
    REQUIRE(run_.working.undelivered.empty());
    REQUIRE(run_.working.open_permissions.empty());
    check_permissions();
    std::vector<std::string> first_starts;
    std::string running;
    for (const auto& e : run_.stored) {
      REQUIRE(e.data.find("secret-value") == std::string::npos);
      if (e.type == "turn.started") {
        REQUIRE((running.empty() || running == e.turn));
        running = e.turn;
        if (std::ranges::find(first_starts, e.turn) == first_starts.end())
          first_starts.push_back(e.turn);
      } else if (e.type == "turn.completed" && e.turn == running) {
        running.clear();
      } else if (e.type == "turn.queued" && e.turn == running) {
        running.clear(); // to be run again
      }
    }
    REQUIRE(std::ranges::is_sorted(first_starts)); // ids sort by acceptance
    for (const auto& turn : accepted_)
      check_turn(turn);
  }

  /// Each request is resolved exactly once, after it was made and before its turn's end.
  void check_permissions() {
    std::map<std::string, std::string> open; // id -> turn
    for (const auto& e : run_.stored) {
      const auto id = string_or(parse_json(e.data).value(), "permission");
      CAPTURE(e.at.value, e.type, id);
      if (e.type == "permission.requested")
        REQUIRE(open.emplace(id, e.turn).second);
      else if (e.type == "permission.resolved")
        REQUIRE(open.erase(id) == 1);
      else if (e.type == "turn.completed")
        for (const auto& [each, turn] : open)
          REQUIRE(turn != e.turn);
    }
    REQUIRE(open.empty());
  }

  void check_turn(const std::string& turn) {
    CAPTURE(turn);
    const auto ends = run_.of_type("turn.completed", turn);
    REQUIRE(ends.size() == 1);
    const auto queued = parse_json(run_.of_type("turn.queued", turn).front().data).value();
    const auto held = bool_or(object_at(queued, "options"), "holds_result", false);
    const auto cancelled = parse_json(ends.front().data).value()["outcome"] == "cancelled";
    const auto delivered = run_.of_type("result.delivered", turn).size();
    const auto pending = run_.working.pending.contains(turn) ? 1u : 0u;
    REQUIRE(run_.of_type("result.pending", turn).size() <= 1);
    REQUIRE(delivered + pending == (held && !cancelled ? 1u : 0u));
  }

  std::mt19937 random_;
  core_run run_;
  std::optional<model_session> session_;
  std::vector<std::string> accepted_;
  int next_permission_ = 1;
};

} // namespace

SCENARIO(
  "whatever clients, agents and crashes do, each turn ends once, in order, and its result is "
  "delivered or pending") {
  const auto first = std::random_device{}();
  for (unsigned i = 0; i < 60; ++i) {
    const auto seed = first + i;
    CAPTURE(seed);
    random_history{seed}.play(150);
  }
  WARN("seeds from " << first);
}
