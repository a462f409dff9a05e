#include "tests/actors/agent_fixture.hpp"

using namespace tidemark;
using namespace tidemark::testing;

SCENARIO("an obeyed interrupt ends the turn and leaves the process for the next") {
  runner_fixture f;
  f.begin("t1", "wait");
  REQUIRE(f.until([&] { return f.texts("t1").size() == 1; }));
  f.runner->halt(stop_force::interrupt);
  REQUIRE(f.ended("t1"));
  f.begin("t2", "next", "s1");
  REQUIRE(f.ended("t2"));
  CHECK(f.started("t2")->start == "warm");
  f.settle(600ms); // the ladder of the first turn is over
  CHECK(alive(f.started("t2")->pid));
}

SCENARIO("an interrupt that the agent cannot hear yet is said again once it is ready") {
  runner_fixture f;
  f.runtime.options.interrupt_grace = 10s;
  // Drops what comes before its init, like an agent that still starts.
  f.script = "read -r prompt; read -r dropped; echo init s1; read -r word; echo ack; echo failed "
             "\"$word\"; sleep 600";
  f.begin("t1");
  f.runner->halt(stop_force::interrupt);
  REQUIRE(f.ended("t1"));
  CHECK(f.ends("t1")[0].why->message == "interrupt");
}

SCENARIO("an agent that ignores the interrupt, end of input and TERM is killed in bounded time") {
  runner_fixture f;
  f.script = "trap '' TERM INT HUP; echo init s1; while :; do echo text tick; sleep 0.05; done";
  f.begin("t1");
  REQUIRE(f.says("t1", "tick"));
  const int pid = f.started("t1")->pid;
  const auto begin = std::chrono::steady_clock::now();
  f.runner->halt(stop_force::interrupt);
  f.runner->halt(stop_force::interrupt); // again: no effect
  REQUIRE(f.ended("t1"));
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK(took >= 500ms); // interrupt grace, then twice the kill grace
  CHECK(took < 3s);
  CHECK(f.ends("t1").size() == 1);
  CHECK(f.ends("t1")[0].how == outcome::cancelled);
  CHECK(f.ends("t1")[0].why->code == "TASK_CANCELLED");
  CHECK_FALSE(alive(pid));
}

SCENARIO("end of input and TERM are tried before KILL") {
  runner_fixture f;
  const auto how = GENERATE(as<std::string>{}, "input", "term");
  CAPTURE(how);
  f.runtime.options.kill_grace = 2s; // it has to get as far as leaving, on a busy machine too
  f.script =
    how == "input"
      ? "echo init s1; while read -r line; do :; done; echo text leaving; exit 0"
      : "trap 'echo text leaving; exit 0' TERM; echo init s1; while :; do sleep 0.02; done";
  f.begin("t1");
  REQUIRE(f.until([&] {
    return std::any_of(f.reports.begin(), f.reports.end(), [](auto& r) { return r->session; });
  }));
  f.runner->halt(stop_force::interrupt);
  REQUIRE(f.ended("t1"));
  CHECK(f.texts("t1") == std::vector<std::string>{"leaving"});
  CHECK(f.reports.back()->exit->code == 0);
  CHECK(f.ends("t1")[0].how == outcome::cancelled);
}

SCENARIO("a kill ends the whole tree at once, and what was said before is reported") {
  runner_fixture f;
  f.script = "trap '' TERM; (setsid sleep 600 &); echo init s1; echo text before; sleep 600";
  f.begin("t1");
  REQUIRE(f.says("t1", "before"));
  const auto begin = std::chrono::steady_clock::now();
  f.runner->halt(stop_force::kill);
  REQUIRE(f.ended("t1"));
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
  CHECK(f.ends("t1")[0].how == outcome::cancelled);
  f.runner->halt(stop_force::kill); // nothing runs: no effect
  f.script = obedient;
  f.begin("t2");
  f.runner->halt(stop_force::kill); // at the very start
  REQUIRE(f.ended("t2"));
  CHECK(f.ends("t2").size() == 1);
}

SCENARIO("a kill settles though the log takes nothing any more") {
  runner_fixture f;
  f.give_credit = false;
  f.runtime.options.max_unsynced_bytes = 1000;
  f.script = "echo init s1; while :; do echo text xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done";
  f.begin("t1");
  f.settle(200ms);
  f.runner->halt(stop_force::kill);
  REQUIRE(f.ended("t1"));
  CHECK(f.runtime.pool.live() == 0);
}

SCENARIO(
  "a silent agent is ended; one that speaks, announced its silence or waits for an answer is not") {
  runner_fixture f;
  f.runtime.options.silence_limit = 200ms;
  SECTION("silent") {
    f.script = "read -r prompt; echo init s1; echo text last; sleep 600";
    f.begin("t1");
    REQUIRE(f.ended("t1"));
    CHECK(f.ends("t1").size() == 1);
    CHECK(f.ends("t1")[0].how == outcome::failed);
    CHECK(f.ends("t1")[0].why->code == "AGENT_SILENT");
    CHECK(f.texts("t1") == std::vector<std::string>{"last"});
    CHECK(f.runtime.pool.live() == 0);
  }
  SECTION("printing rubbish and blank lines without end") {
    f.script = "read -r p; echo init s1; while :; do echo rubbish; echo; sleep 0.05; done";
    f.begin("t1");
    REQUIRE(f.ended("t1"));
    CHECK(f.ends("t1")[0].why->code == "AGENT_SILENT");
  }
  SECTION("speaking") {
    f.script = "read -r prompt; for i in 1 2 3 4 5 6 7 8; do echo text $i; sleep 0.08; done; echo "
               "end; sleep 600";
    f.begin("t1");
    REQUIRE(f.ended("t1"));
    CHECK(f.ends("t1")[0].how == outcome::succeeded);
  }
  SECTION("announced") {
    f.script = "read -r prompt; echo quiet 10000; sleep 0.6; echo end; sleep 600";
    f.begin("t1");
    REQUIRE(f.ended("t1"));
    CHECK(f.ends("t1")[0].how == outcome::succeeded);
  }
  SECTION("waiting for an answer") {
    f.script = "read -r prompt; echo ask p1; read -r a; echo end \"$a\"; sleep 600";
    f.begin("t1");
    f.settle(600ms);
    CHECK(f.ends("t1").empty());
    f.runner->answer({"p1", decision::allow, ""});
    REQUIRE(f.ended("t1"));
    CHECK(f.ends("t1")[0].text == "answer p1 allow");
  }
}

SCENARIO("a stopped guard delays a stop by its time limit only, and the tree dies all the same") {
  runner_fixture f;
  f.script = "(setsid sleep 600 &); echo init s1; echo text $PPID; sleep 600";
  f.begin("t1");
  REQUIRE(f.until([&] { return f.texts("t1").size() == 1; }));
  const int guard = std::stoi(f.texts("t1")[0]);
  const int pid = f.started("t1")->pid;
  ::kill(guard, SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  bool gone = false;
  SECTION("of the turn") {
    f.runner->halt(stop_force::kill);
    REQUIRE(f.ended("t1"));
    CHECK(f.ends("t1")[0].how == outcome::cancelled);
  }
  SECTION("of the session") {
    f.runner->stop([&] { gone = true; });
    REQUIRE(f.until([&] { return gone; }));
    CHECK(f.ends("t1")[0].how == outcome::interrupted);
  }
  CHECK(std::chrono::steady_clock::now() - begin < child::guard_limit + 3s);
  CHECK(eventually([&] { return !alive(pid); })); // killed, but perhaps not yet through
  CHECK_FALSE(alive(guard));
}

SCENARIO("stopping ends the running turn as interrupted and leaves no process") {
  runner_fixture f;
  bool gone = false;
  SECTION("while a turn runs") {
    f.begin("t1", "wait");
    REQUIRE(f.until([&] { return f.texts("t1").size() == 1; }));
    f.runner->stop([&] { gone = true; });
    REQUIRE(f.until([&] { return gone; }));
    REQUIRE(f.ends("t1").size() == 1);
    CHECK(f.ends("t1")[0].how == outcome::interrupted);
  }
  SECTION("while idle") {
    f.begin("t1");
    REQUIRE(f.ended("t1"));
    f.runner->stop([&] { gone = true; });
    REQUIRE(f.until([&] { return gone; }));
    CHECK(f.ends("t1").size() == 1);
  }
  SECTION("while a turn waits for the old process") {
    f.script = "trap '' TERM; read -r prompt; echo init s1; echo end; while :; do sleep 1; done";
    f.begin("t0");
    REQUIRE(f.ended("t0"));
    f.begin("t1", "fresh");
    f.runner->stop([&] { gone = true; });
    REQUIRE(f.until([&] { return gone; }));
    REQUIRE(f.ends("t1").size() == 1);
    CHECK(f.ends("t1")[0].how == outcome::interrupted);
  }
  SECTION("before anything was started") {
    f.runner->stop([&] { gone = true; });
    CHECK(gone);
  }
  CHECK(f.runtime.pool.live() == 0);
}

SCENARIO("neighbour of B06: an agent that closes its output and lives on is ended soon, in a turn "
         "and between turns") {
  runner_fixture f;
  f.script = "read -r line; echo init s1; echo text half; exec 1>&-; sleep 300";
  f.begin("t1");
  REQUIRE(f.ended("t1"));
  CHECK(f.ends("t1")[0].how == outcome::failed);
  CHECK(f.ends("t1")[0].why->code == "NO_RESULT");
  CHECK(f.texts("t1").front() == "half");
  f.reports.clear();
  f.script = "read -r line; echo init s1; echo end fine; exec 1>&-; sleep 300";
  f.begin("t2");
  REQUIRE(f.ended("t2"));
  CHECK(f.ends("t2")[0].how == outcome::succeeded);
  REQUIRE(f.exited());
  f.script = obedient;
  f.begin("t3", "again", "s1");
  REQUIRE(f.ended("t3"));
  CHECK(f.ends("t3")[0].text == "again");
}
