// Requests of agents that wait for a person: the core alone.
#include "tests/actors/core_run.hpp"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::testing;
using namespace std::chrono_literals;

namespace {

/// The agent asks for a tool within the turn.
session_report asking(const std::string& turn, const std::string& id, const std::string& tool,
                      const json& input = json::object()) {
  session_report report;
  report.turn = turn;
  const auto is_question = tool == "AskUserQuestion";
  json data = json::object();
  data["permission"] = id;
  data["tool"] = tool;
  data["input"] = input;
  report.events.push_back({is_question ? "question.requested" : "permission.requested", data, {}});
  report.asks.push_back({id, tool, input, {}, is_question});
  return report;
}

json command_input(const std::string& command) {
  return json::object({{"command", command}, {"description", "it does it"}});
}

json colour_question() {
  json question = json::object({{"question", "Which colour?"}});
  return json::object({{"questions", json::array({question})}});
}

decide_permission saying(const std::string& id, person_decision what,
                         const std::string& message = {}) {
  decide_permission said;
  said.permission = id;
  said.what = what;
  said.message = message;
  said.by = "ann";
  return said;
}

/// The answers that the last input sends to the agent.
std::vector<session_answer> answers_of(const core_run& run) {
  std::vector<session_answer> out;
  for (const auto& each : run.effects)
    if (const auto* sent = std::get_if<answer_permission>(&each))
      out.push_back(sent->what);
  return out;
}

permissions_reply listed(core_run& run) {
  run.ask(get_permissions{});
  return run.answered<permissions_reply>();
}

/// A running turn in a workspace that puts requests to people.
struct asked_run : core_run {
  std::string turn;
  explicit asked_run(ask_people how = ask_people::denied, policy rights = policy::strict) {
    rules.ask = how;
    rules.rights = rights;
    turn = submit("a");
    report(started(turn));
  }
  void wants(const std::string& id, const std::string& tool, const json& input = json::object()) {
    report(asking(turn, id, tool, input));
  }
  std::optional<timestamp> wakes() const {
    std::optional<timestamp> at;
    for (const auto& each : effects)
      if (const auto* timer = std::get_if<wake_at>(&each))
        at = timer->when;
    return at;
  }
};

} // namespace

SCENARIO("B48: what the policy would deny waits for a person, and nothing allows it by itself") {
  asked_run run;
  run.wants("p1", "Bash", command_input("make"));
  REQUIRE(run.of_type("permission.resolved").empty());
  REQUIRE(answers_of(run).empty());
  const auto asked = run.last("permission.requested");
  REQUIRE(asked["timeout_s"] == 600);
  REQUIRE(parse_iso8601(string_or(asked, "expires_at")).value() == run.now.plus(600s));
  REQUIRE(run.wakes() == run.now.plus(600s));
  REQUIRE(listed(run).pending.size() == 1);
  REQUIRE(summarize(run.working).open_requests == 1);
  run.pass(599s);
  run.tick();
  REQUIRE(run.of_type("permission.resolved").empty());

  WHEN("nobody decides") {
    run.pass(2s);
    run.tick();
    THEN("it is denied, with words for the agent, and the turn goes on") {
      const auto how = run.last("permission.resolved");
      REQUIRE(how["decision"] == "deny");
      REQUIRE(how["by"] == "timeout");
      REQUIRE(answers_of(run).at(0).what == decision::deny);
      REQUIRE_FALSE(answers_of(run).at(0).message.empty());
      REQUIRE(listed(run).pending.empty());
      REQUIRE(run.working.running);
      AND_THEN("a decision is too late, and hears how it was settled") {
        run.ask(saying("p1", person_decision::allow));
        REQUIRE_FALSE(run.answered<decide_reply>().first);
        REQUIRE(run.answered<decide_reply>().by == "timeout");
        REQUIRE(answers_of(run).empty());
        REQUIRE(run.of_type("permission.resolved").size() == 1);
      }
    }
  }
  WHEN("somebody decides after the limit, but before its timer") {
    run.pass(2s);
    run.ask(saying("p1", person_decision::allow));
    THEN("it is denied") {
      REQUIRE_FALSE(run.answered<decide_reply>().first);
      REQUIRE(answers_of(run).at(0).what == decision::deny);
      REQUIRE(run.last("permission.resolved")["by"] == "timeout");
    }
  }
  WHEN("the clock is put forward meanwhile") {
    put_forward(run.working, 3600s);
    put_forward(run.replica, 3600s);
    run.pass(3600s);
    run.tick();
    THEN("it still has the time that was left") {
      REQUIRE(run.of_type("permission.resolved").empty());
      run.pass(2s);
      run.tick();
      REQUIRE(run.of_type("permission.resolved").size() == 1);
    }
  }
}

SCENARIO("the first decision on a request counts, is in the log before the agent has it, and says "
         "whose it is") {
  asked_run run;
  run.wants("p1", "Bash", command_input("make"));
  WHEN("it is allowed") {
    run.ask(saying("p1", person_decision::allow));
    THEN("the agent may go on, and later ones hear of it") {
      REQUIRE(run.answered<decide_reply>().first);
      const auto how = run.last("permission.resolved");
      REQUIRE(how["decision"] == "allow");
      REQUIRE(how["by"] == "ann");
      REQUIRE(how["via"] == "client");
      REQUIRE(how["tool"] == "Bash");
      REQUIRE(run.of_type("permission.resolved").front().turn == run.turn);
      REQUIRE(answers_of(run).at(0).what == decision::allow);
      run.ask(saying("p1", person_decision::deny));
      REQUIRE_FALSE(run.answered<decide_reply>().first);
      REQUIRE(run.answered<decide_reply>().decision == "allow");
      REQUIRE(run.answered<decide_reply>().by == "ann");
      REQUIRE(run.of_type("permission.resolved").size() == 1);
    }
  }
  WHEN("it is denied without a word") {
    run.ask(saying("p1", person_decision::deny));
    THEN("the agent still gets a message") {
      REQUIRE(answers_of(run).at(0).what == decision::deny);
      REQUIRE_FALSE(answers_of(run).at(0).message.empty());
    }
  }
  WHEN("it is denied with a message") {
    run.ask(saying("p1", person_decision::deny, "not on Fridays"));
    THEN("the agent and the log have it") {
      REQUIRE(answers_of(run).at(0).message == "not on Fridays");
      REQUIRE(run.last("permission.resolved")["message"] == "not on Fridays");
    }
  }
  WHEN("another one is decided") {
    run.ask(saying("p9", person_decision::allow));
    THEN("nobody knows it") {
      REQUIRE(run.reply->error().code == errc::not_found);
    }
  }
  WHEN("a permission is given answers") {
    auto said = saying("p1", person_decision::allow);
    said.answers["x"] = "y";
    run.ask(said);
    THEN("they are refused, and it waits on") {
      REQUIRE(run.reply->error().code == errc::invalid_argument);
      REQUIRE(listed(run).pending.size() == 1);
    }
  }
}

SCENARIO("settings say which requests wait") {
  GIVEN("never") {
    asked_run run{ask_people::never};
    run.wants("p1", "Bash");
    THEN("the policy decides at once") {
      REQUIRE(run.last("permission.resolved")["by"] == "policy");
      REQUIRE_FALSE(run.last("permission.requested").contains("expires_at"));
      run.ask(saying("p1", person_decision::allow));
      REQUIRE(run.reply->error().code == errc::not_found);
    }
  }
  GIVEN("denied, and a request that the policy allows") {
    asked_run run{ask_people::denied, policy::agent};
    run.wants("p1", "Bash");
    THEN("it does not wait") {
      REQUIRE(run.last("permission.resolved")["decision"] == "allow");
    }
  }
  GIVEN("all, and a request that the policy allows") {
    asked_run run{ask_people::all, policy::agent};
    run.wants("p1", "Bash");
    THEN("it waits") {
      REQUIRE(run.of_type("permission.resolved").empty());
      REQUIRE(listed(run).pending.size() == 1);
    }
  }
  GIVEN("all, and a request of a background task, outside of a turn") {
    asked_run run{ask_people::all, policy::relaxed};
    run.report(ended(run.turn));
    run.report(asking("", "p1", "Bash"));
    THEN("it is denied, because nobody is asked then") {
      REQUIRE(run.last("permission.resolved")["decision"] == "deny");
      REQUIRE(answers_of(run).at(0).what == decision::deny);
    }
  }
}

SCENARIO("what waits is resolved once, however the turn ends") {
  asked_run run;
  run.wants("p1", "Bash", command_input("make"));
  const auto resolved_before_end = [&](const std::string& by) {
    const auto ends = run.of_type("turn.completed");
    const auto how = run.of_type("permission.resolved");
    REQUIRE(how.size() == 1);
    REQUIRE(ends.size() == 1);
    REQUIRE(how[0].at < ends[0].at);
    REQUIRE(run.last("permission.resolved")["by"] == by);
    REQUIRE(listed(run).pending.empty());
    run.ask(saying("p1", person_decision::allow));
    REQUIRE_FALSE(run.answered<decide_reply>().first);
    REQUIRE(run.of_type("permission.resolved").size() == 1);
  };
  WHEN("the agent ends it") {
    run.report(ended(run.turn));
    resolved_before_end("withdrawn");
  }
  WHEN("a client cancels it") {
    run.ask(cancel_turn{run.turn, "bob"});
    resolved_before_end("withdrawn");
  }
  WHEN("the agent withdraws the request and then ends") {
    session_report report;
    report.turn = run.turn;
    report.events.push_back(
      {"permission.resolved",
       parse_json(R"({"permission":"p1","decision":"withdrawn","by":"withdrawn"})").value(),
       {}});
    report.withdrawn.push_back("p1");
    run.report(report);
    run.report(ended(run.turn));
    resolved_before_end("withdrawn");
  }
  WHEN("the server dies") {
    run.restart();
    resolved_before_end("restart");
    REQUIRE(run.last("turn.completed")["outcome"] == "interrupted");
  }
  WHEN("the server dies after a snapshot") {
    run.meta[record_key::snapshot(run.working.stream)] = snapshot(run.working);
    run.restart();
    resolved_before_end("restart");
  }
  WHEN("it was decided, and the agent withdraws it while the answer is on its way") {
    run.ask(saying("p1", person_decision::allow));
    session_report report;
    report.turn = run.turn;
    report.events.push_back(
      {"permission.resolved", parse_json(R"({"permission":"p1"})").value(), {}});
    report.withdrawn.push_back("p1");
    run.report(report);
    run.report(ended(run.turn));
    resolved_before_end("ann");
  }
}

SCENARIO("a rule that a person stores allows its like at once, also after a restart") {
  asked_run run;
  run.wants("p1", "Bash", command_input("make test"));
  run.wants("p2", "Bash", command_input("make test"));
  run.wants("p3", "Bash", command_input("rm -rf /"));
  run.ask(saying("p1", person_decision::allow_always));
  const auto rule = run.answered<decide_reply>().rule;
  REQUIRE_FALSE(rule.empty());
  REQUIRE(run.last("permission.rule")["change"] == "added");
  REQUIRE(run.last("permission.rule")["by"] == "ann");
  THEN("what waits and is covered is allowed too, and nothing else") {
    REQUIRE(answers_of(run).size() == 2);
    REQUIRE(run.last("permission.resolved")["by"] == "rule");
    REQUIRE(run.last("permission.resolved")["rule"] == rule);
    const auto left = listed(run);
    REQUIRE(left.pending.size() == 1);
    REQUIRE(left.pending[0].id == "p3");
    REQUIRE(left.rules.size() == 1);
    REQUIRE(left.rules[0].command == "make test");
  }
  WHEN("the server restarts and the next turn asks for the same") {
    run.restart();
    const auto next = run.submit("b");
    run.report(started(next));
    run.report(asking(next, "p4", "Bash", command_input("make test")));
    THEN("it is allowed by the rule, another description or not") {
      REQUIRE(run.last("permission.resolved")["by"] == "rule");
      REQUIRE(answers_of(run).at(0).what == decision::allow);
      auto input = command_input("make test");
      input["description"] = "another one";
      run.report(asking(next, "p5", "Bash", input));
      REQUIRE(answers_of(run).at(0).what == decision::allow);
    }
    THEN("another command, or the same outside of its sandbox, waits") {
      auto input = command_input("make test");
      input["dangerouslyDisableSandbox"] = true;
      run.report(asking(next, "p4", "Bash", input));
      run.report(asking(next, "p5", "Bash", command_input("make test; rm x")));
      REQUIRE(listed(run).pending.size() == 2);
    }
    AND_WHEN("the rule is removed") {
      run.ask(remove_rule{rule, "bob"});
      REQUIRE(run.last("permission.rule")["change"] == "removed");
      run.report(asking(next, "p4", "Bash", command_input("make test")));
      THEN("it waits again") {
        REQUIRE(listed(run).pending.size() == 1);
        REQUIRE(listed(run).rules.empty());
        run.ask(remove_rule{rule, "bob"});
        REQUIRE(run.reply->error().code == errc::not_found);
      }
    }
  }
  WHEN("a tool that runs no command is always allowed") {
    run.wants("p6", "Write", json::object({{"file_path", "a"}}));
    run.ask(saying("p6", person_decision::allow_always));
    run.wants("p7", "Write", json::object({{"file_path", "b"}}));
    THEN("it is, whatever its input") {
      REQUIRE(run.last("permission.resolved")["by"] == "rule");
      REQUIRE(restore(snapshot(run.working)).value().permission_rules.size() == 2);
    }
  }
}

SCENARIO("a question waits for its answers, which go to the agent and into the log") {
  asked_run run{ask_people::denied, policy::relaxed};
  run.wants("q1", "AskUserQuestion", colour_question());
  REQUIRE(listed(run).pending.at(0).is_question);
  REQUIRE(run.of_type("question.resolved").empty());
  auto said = saying("q1", person_decision::allow);
  WHEN("it is answered") {
    said.answers["Which colour?"] = "blue";
    run.ask(said);
    THEN("the agent has the answers") {
      REQUIRE(run.answered<decide_reply>().first);
      REQUIRE(answers_of(run).at(0).answers == said.answers);
      REQUIRE(run.last("question.resolved")["answers"] == said.answers);
      REQUIRE(run.of_type("permission.resolved").empty());
    }
  }
  WHEN("the answers do not fit, or it should always be allowed") {
    run.ask(said);
    REQUIRE(run.reply->error().code == errc::invalid_argument);
    said.answers["Which size?"] = "L";
    run.ask(said);
    REQUIRE(run.reply->error().code == errc::invalid_argument);
    said.answers["Which colour?"] = 7;
    run.ask(said);
    REQUIRE(run.reply->error().code == errc::invalid_argument);
    said.answers["Which colour?"] = "blue";
    run.ask(said);
    REQUIRE(run.reply->error().code == errc::invalid_argument);
    run.ask(saying("q1", person_decision::allow_always));
    REQUIRE(run.reply->error().code == errc::invalid_argument);
    THEN("it waits on") {
      REQUIRE(listed(run).pending.size() == 1);
    }
  }
  WHEN("it is declined") {
    run.ask(saying("q1", person_decision::deny));
    THEN("the agent hears so") {
      REQUIRE(answers_of(run).at(0).what == decision::deny);
    }
  }
}

SCENARIO("a snapshot of an older version, which knows only the ids of what is open, is read") {
  auto old = parse_json(snapshot(core_run{}.working)).value();
  old["open_permissions"] = json::array({"p1"});
  old.erase("permission_rules");
  old.erase("settled_permissions");
  const auto state = restore(dump_json(old)).value();
  REQUIRE(state.open_permissions.contains("p1"));
  REQUIRE_FALSE(state.open_permissions.at("p1").expires);
}
