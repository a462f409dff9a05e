#include "actors/workspace_draft.hpp"
#include "actors/workspace_permissions.hpp"

#include <algorithm>
#include <utility>

namespace tidemark {
namespace {

/// What the session finds out beside what the agent says (actors/turn_files.hpp).
constexpr std::string_view changes = "turn.changes";

/// What only the workspace may say: an adapter that says it is kept, but not believed.
bool is_ours(std::string_view type) {
  return (type.starts_with("turn.") && type != changes) || type.starts_with("result.")
         || type.starts_with("workspace.") || type.starts_with("shell.") || type == rule_event;
}

class report_reader {
public:
  report_reader(workspace_draft& d, const session_report& report,
                const std::set<std::string>& clients)
    : d_(d),
      report_(report),
      clients_(clients) {
    held_ = state().held && !report.turn.empty() && state().held->turn == report.turn;
    live_ = held_ && find_turn(state(), report.turn) != nullptr;
    over_ = !live_ && !report.turn.empty();
    // Output of a turn that is over belongs to none.
    turn_ = live_ ? report.turn : std::string{};
  }

  void read() {
    if (report_.started && live_)
      start(*report_.started);
    for (const auto& e : report_.events)
      pass_on(e);
    note_session();
    for (const auto& ask : report_.asks)
      answer(ask);
    for (const auto& permission : report_.withdrawn)
      withdraw(permission);
    if (!live_)
      withdraw_open_permissions(d_);
    if (report_.exit)
      close_items(d_);
    if (report_.end && held_)
      end(*report_.end);
  }

private:
  workspace_state& state() { return d_.state(); }

  void start(const session_started& how) {
    const auto* turn = find_turn(state(), turn_);
    json agent = json::object();
    agent["name"] = how.agent;
    agent["version"] = how.version;
    agent["pid"] = how.pid;
    json data = json::object();
    data["turn"] = turn_;
    data["attempt"] = turn->attempt + 1;
    data["session"] = state().held->resume.empty() ? json(nullptr) : json(state().held->resume);
    data["agent"] = std::move(agent);
    data["start"] = how.start;
    data["policy"] = to_string(d_.rules().rights);
    data["isolation"] = "none";
    d_.emit("turn.started", turn_, data);
    d_.record(*state().running, "running");
  }

  void pass_on(const agent_event& e) {
    if (e.type == "turn.completed" && e.raw && live_) {
      terminal_line_ = e.raw; // our own terminal event carries the agent's line
      return;
    }
    if (e.type == changes && !live_)
      return; // it is known too late: the turn has its end
    if (is_ours(e.type) || settles_what_is_settled(e)) {
      if (e.raw)
        opaque(e);
      return;
    }
    if (e.type.starts_with("item."))
      pass_on_item(e);
    else if (e.type == "permission.requested" || e.type == "question.requested")
      pass_on_request(e);
    else
      d_.emit(e.type, turn_, e.data, e.raw);
  }

  /// An item has one start and one end, both within its turn. The workspace ends what a stopped turn
  /// leaves open, so what its agent says until it is gone comes too late; only its line is kept.
  void pass_on_item(const agent_event& e) {
    const auto id = item_of(e.data);
    const auto starts = e.type == "item.started";
    const auto open = state().open_items.find(id);
    const auto is_open = open != state().open_items.end();
    const auto fits = starts ? !is_open && !over_ && !id.empty() : is_open;
    if (fits)
      d_.emit(e.type, starts ? turn_ : std::string{open->second.turn}, e.data, e.raw);
    else if (e.raw)
      opaque(e);
  }

  /// One that a person decides says until when, and what "always" would mean.
  void pass_on_request(const agent_event& e) {
    const auto ask =
      std::ranges::find(report_.asks, string_or(e.data, "permission"), &permission_ask::id);
    if (ask == report_.asks.end() || judge(*ask).by != decider::person)
      return d_.emit(e.type, turn_, e.data, e.raw);
    auto data = e.data;
    put_to_person(data, *ask, d_);
    d_.emit(e.type, turn_, data, e.raw);
  }

  [[nodiscard]] verdict judge(const permission_ask& ask) {
    return judge_request(state(), d_.rules(), ask, live_);
  }

  /// The agent may withdraw an ask while our answer is still on its way: the first word counts.
  bool settles_what_is_settled(const agent_event& e) {
    return (e.type == "permission.resolved" || e.type == "question.resolved")
           && !state().open_permissions.contains(string_or(e.data, "permission"));
  }

  void opaque(const agent_event& e) {
    json data = json::object();
    data["type"] = e.type;
    data["late"] = true;
    d_.emit("agent.opaque", turn_, data, e.raw);
  }

  void note_session() {
    if (report_.session && held_)
      state().held->heard = *report_.session;
    // The tools are part of what a restart remembers, so an event has to tell of them.
    if (report_.tools && !report_.tools->empty() && state().tools != report_.tools) {
      json data = json::object();
      data["session"] = report_.session ? json(*report_.session) : json(nullptr);
      data["tools"] = *report_.tools;
      data["synthetic"] = true;
      d_.emit("session.started", turn_, data);
    }
  }

  void answer(const permission_ask& ask) {
    const auto open = state().open_permissions.find(ask.id);
    if (open != state().open_permissions.end() && open->second.expires)
      return; // a person decides
    auto answered = judge(ask);
    if (answered.by == decider::person) // its event was too large for the log: nobody could decide
      answered = denied_unasked();
    settle_request(d_, ask, answered);
  }

  void withdraw(const std::string& permission) {
    withdraw_permission(d_, permission, "withdrawn", "the agent needs no answer any more");
  }

  void end(turn_result result) {
    const auto hold = *state().held;
    if (result.session_lost && !hold.resume.empty())
      lose_session(hold, result);
    const auto again = live_ && result.session_lost && !hold.resume.empty() && !hold.interrupting;
    if (again) {
      run_without_resume(hold);
      return;
    }
    if (live_) {
      if (hold.interrupting)
        interrupted(hold, result);
      complete_turn(d_, report_.turn, result, clients_, report_.exit, terminal_line_);
    }
    state().held.reset();
    start_next(d_);
  }

  void lose_session(const session_hold& hold, const turn_result& result) {
    if (state().session != hold.resume)
      return; // reset meanwhile
    json data = json::object();
    data["session"] = hold.resume;
    data["reason"] = result.why ? result.why->message : "the agent knows no such conversation";
    d_.emit("session.lost", turn_, data);
  }

  void run_without_resume(const session_hold& before) {
    const auto* turn = find_turn(state(), before.turn);
    session_begin begin;
    begin.turn = turn->turn;
    begin.prompt = turn->prompt;
    begin.rights = d_.rules().rights;
    begin.asks_people = d_.rules().ask != ask_people::never;
    begin.model = turn->model;
    session_hold hold;
    hold.turn = before.turn;
    hold.reset = before.reset;
    state().held = std::move(hold);
    d_.run(start_turn{std::move(begin)});
  }

  /// Whatever the agent made of the interrupt: its caller was told that the turn ends.
  static void interrupted(const session_hold& hold, turn_result& result) {
    result.how = outcome::cancelled;
    result.ended_by = hold.interrupted_by;
    result.why =
      turn_error{std::string{task_cancelled},
                 hold.interrupted_by.empty() ? "the task was interrupted"
                                             : "the task was interrupted by " + hold.interrupted_by,
                 false, json::object()};
  }

  workspace_draft& d_;
  const session_report& report_;
  const std::set<std::string>& clients_;
  bool held_ = false;
  bool live_ = false;
  bool over_ = false; // it is of a turn that has ended
  std::string turn_;
  shared_text terminal_line_;
};

} // namespace

decided decide(workspace_state& working, const workspace_rules& rules, const session_report& report,
               const std::set<std::string>& clients, timestamp now) {
  workspace_draft d{working, rules, now};
  report_reader{d, report, clients}.read();
  return d.finish();
}

} // namespace tidemark
