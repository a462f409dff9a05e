#include "tests/actors/agent_fixture.hpp"

#include <algorithm>
#include <fstream>
#include <map>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

/// Waits for a prompt, then does `then`.
std::string on_prompt(const std::string& then) {
  return "read -r line; " + then;
}

} // namespace

SCENARIO("a turn that follows in the same conversation is run by the live process") {
  runner_fixture f;
  f.begin("t1", "one");
  REQUIRE(f.ended("t1"));
  CHECK(f.started("t1")->start == "cold");
  CHECK(f.ends("t1")[0].text == "one");
  f.begin("t2", "two", "s1");
  REQUIRE(f.ended("t2"));
  CHECK(f.started("t2")->start == "warm");
  CHECK(f.started("t2")->pid == f.started("t1")->pid);
  CHECK(f.ends("t1").size() == 1);
  CHECK(f.ends("t2").size() == 1);
  CHECK(f.runtime.pool.live() == 1);
}

SCENARIO(
  "what the agent read at start having changed, the next turn gets a new process that resumes") {
  runner_fixture f;
  f.begin("t1");
  REQUIRE(f.ended("t1"));
  f.fingerprint = "two";
  f.begin("t2", "again", "s1");
  REQUIRE(f.ended("t2"));
  CHECK(f.started("t2")->start == "resume");
  CHECK(f.planned.resume_session == "s1");
  CHECK(f.started("t2")->pid != f.started("t1")->pid);
  CHECK_FALSE(alive(f.started("t1")->pid));
}

SCENARIO("a turn without a conversation to resume never goes on with the old one") {
  runner_fixture f;
  f.begin("t1");
  REQUIRE(f.ended("t1"));
  f.begin("t2", "fresh");
  REQUIRE(f.ended("t2"));
  CHECK(f.started("t2")->start == "cold");
}

SCENARIO("a turn begun while another runs is refused and ends as failed; the first goes on") {
  runner_fixture f;
  f.begin("t1", "wait");
  REQUIRE(f.until([&] { return f.texts("t1").size() == 1; }));
  f.begin("t2");
  REQUIRE(f.ends("t2").size() == 1);
  CHECK(f.ends("t2")[0].how == outcome::failed);
  CHECK(f.ends("t1").empty());
  f.runner->halt(stop_force::interrupt);
  REQUIRE(f.ended("t1"));
}

SCENARIO("a process that dies, however, ends its turn exactly once, with its last words") {
  struct death {
    const char* how;
    const char* script;
    const char* message;
  };
  const auto each =
    GENERATE(death{"exit", "echo oops >&2; exit 3", "code 3 signal 0: oops\n"},
             death{"signal", "kill -KILL $$", "code -1 signal 9: "},
             death{"half a line", "printf 'text half'; exit 0", "code 0 signal 0: "},
             death{"a flood on stderr",
                   "head -c 3000000 /dev/zero | tr '\\0' x >&2; "
                   "echo >&2; echo why >&2; exit 1",
                   "code 1 signal 0: why\n"});
  CAPTURE(each.how);
  runner_fixture f;
  f.script = on_prompt(each.script);
  f.begin("t1");
  REQUIRE(f.ended("t1"));
  f.settle(50ms);
  REQUIRE(f.ends("t1").size() == 1);
  CHECK(f.ends("t1")[0].how == outcome::failed);
  CHECK(f.ends("t1")[0].why->message == each.message);
  CHECK(f.reports.back()->exit.has_value());
  CHECK(f.runtime.pool.live() == 0);
  f.script = obedient;
  f.begin("t2");
  REQUIRE(f.ended("t2"));
  CHECK(f.ends("t2")[0].how == outcome::succeeded);
}

SCENARIO("a process that dies right at its result has ended the turn once, as it said") {
  runner_fixture f;
  f.script = on_prompt("echo init s1; printf 'end fine'; exit 7");
  f.begin("t1");
  REQUIRE(f.exited());
  REQUIRE(f.ends("t1").size() == 1);
  CHECK(f.ends("t1")[0].how == outcome::succeeded);
  CHECK(f.ends("t1")[0].text == "fine");
}

SCENARIO("a result with helpers that never exit ends the turn at once") {
  runner_fixture f;
  f.script = on_prompt("echo init s1; echo end done; sleep 600 & sleep 600");
  const auto begin = std::chrono::steady_clock::now();
  f.begin("t1");
  REQUIRE(f.ended("t1"));
  CHECK(std::chrono::steady_clock::now() - begin < 1s);
}

SCENARIO("what cannot be started says which thing is missing") {
  runner_fixture f;
  SECTION("the executable") {
    f.runtime.options.binary = "no-such-agent";
    f.begin("t1");
    REQUIRE(f.ends("t1").size() == 1);
    CHECK(f.ends("t1")[0].why->code == "RUNTIME_UNAVAILABLE");
    CHECK(f.ends("t1")[0].why->message.find("\"no-such-agent\"") != std::string::npos);
  }
  SECTION("the workspace's directory") {
    std::filesystem::remove_all(f.directory / "work/w1");
    std::ofstream{f.directory / "work/w1"} << "in the way";
    f.begin("t1");
    REQUIRE(f.ends("t1").size() == 1);
    CHECK(f.ends("t1")[0].why->code == "WORKSPACE_DIRECTORY_MISSING");
    std::filesystem::remove(f.directory / "work/w1");
  }
  SECTION("sense in the settings") {
    f.script.clear();
    f.begin("t1");
    REQUIRE(f.ends("t1").size() == 1);
    CHECK(f.ends("t1")[0].why->code == "SETTINGS_INVALID");
  }
  f.runtime.options.binary = "sh";
  f.script = obedient;
  f.begin("t2");
  REQUIRE(f.ended("t2"));
  CHECK(f.ends("t2")[0].how == outcome::succeeded);
}

SCENARIO("a workspace's directory that was deleted is made again, for a live agent too") {
  runner_fixture f;
  f.begin("t1");
  REQUIRE(f.ended("t1"));
  const auto directory = f.directory / "work/w1";
  std::filesystem::remove_all(directory);
  f.begin("t2", "again", "s1");
  REQUIRE(f.ended("t2"));
  CHECK(f.ends("t2")[0].how == outcome::succeeded);
  CHECK(f.started("t2")->start == "resume"); // the old process sits in the deleted one
  CHECK(std::filesystem::is_directory(directory));
}

SCENARIO("a death between turns is noticed and the next turn starts a process") {
  runner_fixture f;
  f.begin("t1");
  REQUIRE(f.ended("t1"));
  ::kill(f.started("t1")->pid, SIGKILL);
  REQUIRE(f.exited());
  CHECK(f.reports.back()->turn.empty());
  CHECK(f.reports.back()->exit->signal == SIGKILL);
  f.begin("t2", "go on", "s1");
  REQUIRE(f.ended("t2"));
  CHECK(f.started("t2")->start == "resume");
  CHECK(f.ends("t2")[0].how == outcome::succeeded);
}

SCENARIO("a lost conversation is reported as such") {
  runner_fixture f;
  f.script = on_prompt("echo lost; exit 1");
  f.begin("t1", "hello", "gone");
  REQUIRE(f.ended("t1"));
  CHECK(f.ends("t1")[0].session_lost);
  f.script = obedient;
  f.begin("t1"); // the workspace runs it again without
  REQUIRE(f.until([&] { return f.ends("t1").size() == 2; }));
  CHECK(f.ends("t1")[1].how == outcome::succeeded);
}

SCENARIO("output after a turn's end belongs to no turn") {
  runner_fixture f;
  f.script = on_prompt("echo init s1; echo text in; echo end; echo text late; sleep 600");
  f.begin("t1");
  REQUIRE(f.says("", "late"));
  CHECK(f.texts("t1") == std::vector<std::string>{"in"});
}

SCENARIO("secrets are masked in everything that is reported, also across the server's own") {
  runner_fixture f;
  f.secrets = {"sk-12345678", "with\"quote"};
  f.runtime.options.server_secrets = {"api-token-1"};
  f.script =
    on_prompt("echo 'text sk-12345678 api-token-1 with\"quote'; echo 'sk-12345678' >&2; exit 1");
  f.begin("t1");
  REQUIRE(f.ended("t1"));
  CHECK(f.texts("t1") == std::vector<std::string>{"[secret] [secret] [secret]"});
  for (const auto& report : f.reports)
    for (const auto& event : report->events)
      CHECK(event.raw->find("12345678") == std::string::npos);
  CHECK(f.ends("t1")[0].why->message == "code 1 signal 0: [secret]\n");
}

SCENARIO("a secret that is split over deltas reaches nobody, and the deltas join to the text") {
  runner_fixture f;
  f.secrets = {"SECSPLIT0TOKEN77XYZ"};
  f.script = on_prompt("echo init s1; echo 'delta a|The token is SECSPL'; echo 'delta a|IT0TOK'; "
                       "echo 'delta b|SEC'; echo 'delta a|EN77XYZ ok'; "
                       "echo 'done a|The token is SECSPLIT0TOKEN77XYZ ok'; "
                       "echo 'delta b|RET SECS'; echo 'done b|SECRET SECS'; "
                       "echo 'delta c|innocent'; echo 'delta d|SECSPL'; echo end; sleep 600");
  f.begin("t1");
  REQUIRE(f.ended("t1"));
  std::map<std::string, std::string> joined;
  std::map<std::string, std::string> whole;
  for (const auto& report : f.reports)
    for (const auto& event : report->events) {
      if (event.type == "item.delta") {
        CHECK(whole.count(string_or(event.data, "item")) == 0);
        joined[string_or(event.data, "item")] += string_or(event.data, "text");
      } else {
        const auto& item = object_at(event.data, "item");
        whole[string_or(item, "id")] = string_or(item, "text");
      }
      for (const auto* part : {"SECSPL", "IT0TOK", "EN77XYZ"})
        CHECK((!event.raw || event.raw->find(part) == std::string::npos));
      CHECK((string_or(event.data, "text") != "innocent" || event.raw));
    }
  CHECK(joined["a"] == "The token is [secret] ok");
  CHECK(joined["b"] == "SECRET SECS");
  CHECK(joined["c"] == "innocent");
  CHECK(joined["d"] == "SECSPL");
  CHECK(whole["a"] == joined["a"]);
  CHECK(whole["b"] == joined["b"]);
}

SCENARIO("of a flood of noise the first lines are kept and the rest is told once a turn") {
  runner_fixture f;
  f.script = "read -r p; yes rubbish | head -n 5000; echo init s1; echo end; "
             "read -r p; echo rubbish; echo end; sleep 600";
  f.begin("t1");
  REQUIRE(f.ended("t1"));
  f.begin("t2", "again", "s1");
  REQUIRE(f.ended("t2"));
  std::map<std::string, int> kept;
  std::map<std::string, int> told;
  for (const auto& report : f.reports)
    for (const auto& event : report->events) {
      kept[report->turn] += event.type == "agent.noise";
      told[report->turn] += string_or(event.data, "code") == "noise_suppressed";
    }
  CHECK(kept["t1"] == 1000);
  CHECK(told["t1"] == 1);
  CHECK(kept["t2"] == 1);
  CHECK(told["t2"] == 0);
}

SCENARIO("while the log is behind the agent is not read, and goes on with each credit") {
  runner_fixture f;
  f.give_credit = false;
  f.runtime.options.max_unsynced_bytes = 100'000;
  f.script = on_prompt(
    "i=0; while [ $i -lt 2000 ]; do echo \"text $i "
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    "\"; i=$((i+1)); done; echo end; sleep 600");
  f.begin("t1");
  f.settle(500ms);
  std::size_t outstanding = 0;
  for (const auto weight : f.weights)
    outstanding += weight;
  CHECK(outstanding > 100'000);
  CHECK(outstanding < 100'000 + 3 * 65'536);
  CHECK(f.ends("t1").empty());
  f.give_credit = true;
  f.runner->credit(outstanding);
  REQUIRE(f.ended("t1"));
  CHECK(f.texts("t1").size() == 2000);
}

SCENARIO("the agent gets the server's mark, its own directories and nothing of the server's") {
  runner_fixture f;
  f.script = on_prompt("env | sort | sed 's/^/text /'; echo end");
  f.environment = {{"GIVEN", "yes"}};
  f.begin("t1");
  REQUIRE(f.ended("t1"));
  const auto texts = f.texts("t1");
  CHECK(std::count(texts.begin(), texts.end(), "GIVEN=yes") == 1);
  CHECK(std::count(texts.begin(), texts.end(), "TIDEMARK_INSTANCE=test") == 1);
  CHECK(std::none_of(texts.begin(), texts.end(),
                     [](const auto& t) { return t.rfind("HOME=", 0) == 0; }));
  CHECK(std::filesystem::is_directory(f.planned.config_directory));
  CHECK(f.planned.config_directory != f.planned.home_directory);
}

SCENARIO(
  "an idle process is ended after the idle limit, and by the cap, least recently used first") {
  runner_fixture f;
  SECTION("by time") {
    f.runtime.options.idle_limit = 50ms;
    f.begin("t1");
    REQUIRE(f.ended("t1"));
    REQUIRE(f.exited());
    CHECK(f.runtime.pool.live() == 0);
  }
  SECTION("by another's turn") {
    f.runtime.pool = agent_pool{1};
    f.begin("t1");
    REQUIRE(f.ended("t1"));
    const auto first = std::move(f.runner);
    const int pid = f.started("t1")->pid;
    std::filesystem::create_directories(f.directory / "work/w2");
    f.add_runner("w2");
    f.begin("t2", "wait");
    REQUIRE(f.until([&] { return f.texts("t2").size() == 1 && !alive(pid); }));
    CHECK(f.until([&] { return f.runtime.pool.live() == 1; }));
  }
}

SCENARIO("a turn that finds all processes busy waits its time, and ends once however it ends") {
  runner_fixture f;
  f.runtime.pool = agent_pool{1};
  f.begin("t1", "wait");
  REQUIRE(f.until([&] { return f.texts("t1").size() == 1; }));
  const auto first = std::move(f.runner);
  f.add_runner("w2");
  f.begin("t2");
  const auto second = std::move(f.runner);
  f.add_runner("w3");
  f.begin("t3");
  f.settle(100ms);
  CHECK(f.runtime.pool.live() == 1);
  CHECK(f.ends("t2").empty());
  CHECK_FALSE(f.started("t2"));
  SECTION("first come, first served") {
    first->halt(stop_force::interrupt);
    REQUIRE(f.ended("t3"));
    CHECK(f.ends("t2").size() == 1);
    CHECK(f.ends("t2")[0].how == outcome::succeeded);
    CHECK(f.ends("t3")[0].how == outcome::succeeded);
    CHECK_FALSE(alive(f.started("t2")->pid));
  }
  SECTION("cancelled while it waits") {
    second->halt(stop_force::interrupt);
    REQUIRE(f.ends("t2").size() == 1);
    CHECK(f.ends("t2")[0].how == outcome::cancelled);
    first->halt(stop_force::interrupt);
    REQUIRE(f.ended("t3"));
    CHECK_FALSE(f.started("t2"));
  }
  SECTION("stopped while it waits") {
    bool gone = false;
    second->stop([&] { gone = true; });
    CHECK(gone);
    CHECK(f.ends("t2")[0].how == outcome::interrupted);
  }
  SECTION("its start fails when its time has come") {
    f.runtime.options.binary = "no-such-agent";
    first->stop([] {});
    REQUIRE(f.ended("t3"));
    CHECK(f.ends("t2")[0].why->code == "RUNTIME_UNAVAILABLE");
    CHECK(f.ends("t3")[0].why->code == "RUNTIME_UNAVAILABLE");
  }
  CHECK(f.ends("t2").size() == 1);
  CHECK(f.ends("t1").size() <= 1);
  CHECK(f.runtime.pool.live() <= 1);
}

SCENARIO("a hundred turns, warm and cold, leave no descriptor behind") {
  runner_fixture f;
  f.begin("first");
  REQUIRE(f.ended("first"));
  const auto before = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    f.fingerprint = std::to_string(i / 2);
    f.begin("t" + std::to_string(i), "hello", "s1");
    REQUIRE(f.ended("t" + std::to_string(i)));
  }
  CHECK(open_descriptors() == before);
}

SCENARIO("neighbour of B46: a turn queued before its workspace has heard of the agent's new "
         "conversation goes on in the new one") {
  runner_fixture f;
  f.script = R"sh(
    while read -r word rest; do
      echo "init $(cat conversation 2>/dev/null || echo s1)"
      echo "end $rest"
      if [ "$rest" = move ]; then echo s2 > conversation; echo "init s2"; fi
    done
  )sh";
  f.begin("t1", "move");
  REQUIRE(f.ended("t1"));
  REQUIRE(f.until([&] { return f.reports.back()->session == "s2"; }));
  AND_WHEN("the process can go on") {
    f.begin("t2", "next", "s1");
    REQUIRE(f.ended("t2"));
    CHECK(f.started("t2")->start == "warm");
  }
  AND_WHEN("a new process has to be started") {
    f.fingerprint = "two";
    f.begin("t2", "next", "s1");
    REQUIRE(f.ended("t2"));
    CHECK(f.started("t2")->start == "resume");
    CHECK(f.planned.resume_session == "s2");
  }
  AND_WHEN("it asks for another conversation") {
    f.begin("t2", "next", "s0");
    REQUIRE(f.ended("t2"));
    CHECK(f.planned.resume_session == "s0");
  }
}
