#include "process/child.hpp"

#include "tests/process/running_child.hpp"

#include <sys/wait.h>
#include <unistd.h>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

/// Starts helpers in every way that loses them: background, own session, double fork, all of it
/// ignoring TERM and HUP. Each writes its pid to $PIDS. Holds stdout and stderr.
constexpr auto scatter = R"sh(
  trap '' TERM HUP INT
  spin='echo $$ >> "$PIDS"; exec sleep 600'
  sh -c "$spin" &
  setsid sh -c "$spin" &
  (setsid sh -c "sh -c '$spin' & sh -c '$spin' & wait" &)
  (setsid sh -c "(setsid sh -c '$spin' &) ; $spin" > /dev/null 2>&1 < /dev/null &)
  echo $$ >> "$PIDS"
  while [ "$(wc -l < "$PIDS")" -lt 7 ]; do sleep 0.01; done
)sh";
constexpr std::size_t scattered = 7;

child_options scattering(const scratch& directory, const std::string& then) {
  auto options = shell(scatter + then);
  options.environment["PIDS"] = directory / "pids";
  return options;
}

int guard_of(int agent) {
  const auto stat = contents("/proc/" + std::to_string(agent) + "/stat");
  int guard = 0;
  char state = 0;
  REQUIRE(std::sscanf(stat.c_str() + stat.rfind(')') + 1, " %c %d", &state, &guard) == 2);
  REQUIRE(guard != ::getpid());
  return guard;
}

child_options marked(child_options options) {
  static int last = 0;
  options.mark = "guard-test-" + std::to_string(::getpid()) + "-" + std::to_string(++last);
  return options;
}

bool gone(const std::vector<int>& pids) {
  return eventually([&] { return all_gone(pids); });
}

} // namespace

SCENARIO("killing the tree reaches helpers that left the session and lost their parent") {
  scratch directory;
  running_child child{scattering(directory, "echo ready; sleep 600")};
  REQUIRE(child.process);
  REQUIRE(child.until([&] { return child.out == "ready\n"; }));
  const auto pids = pids_in(directory / "pids");
  REQUIRE(pids.size() == scattered);
  CHECK_FALSE(all_gone(pids));
  const auto begin = std::chrono::steady_clock::now();
  child->kill_tree();
  REQUIRE(child.until_exit());
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
  CHECK(child.exit->signal == SIGKILL);
  CHECK(all_gone(pids)); // already when the exit is told
}

SCENARIO("an agent that ends by itself takes its helpers with it, though they hold its stdout") {
  scratch directory;
  running_child child{scattering(directory, "echo ready; exit 4")};
  REQUIRE(child.process);
  REQUIRE(child.until_exit());
  CHECK(child.exit->code == 4);
  CHECK(child.out == "ready\n");
  const auto pids = pids_in(directory / "pids");
  REQUIRE(pids.size() == scattered);
  CHECK(all_gone(pids));
}

SCENARIO("an agent that ignores TERM outlives a signal but not a kill of the tree") {
  running_child child{shell("trap '' TERM INT; echo ready; while :; do sleep 0.05; done")};
  REQUIRE(child.process);
  REQUIRE(child.until([&] { return !child.out.empty(); }));
  child->signal(SIGTERM);
  CHECK_FALSE(child.until_exit(300ms));
  child->kill_tree();
  REQUIRE(child.until_exit());
  CHECK(child.exit->signal == SIGKILL);
}

SCENARIO("destroying a child kills the tree") {
  scratch directory;
  std::vector<int> pids;
  {
    running_child child{scattering(directory, "echo ready; sleep 600")};
    REQUIRE(child.process);
    REQUIRE(child.until([&] { return !child.out.empty(); }));
    pids = pids_in(directory / "pids");
    REQUIRE(pids.size() == scattered);
  }
  CHECK(all_gone(pids));
}

SCENARIO("when the server is killed, everything its agent started dies") {
  scratch directory;
  const pid_t server = ::fork();
  if (server == 0) {
    running_child child{scattering(directory, "sleep 600")};
    child.until([] { return false; }, 60s);
    ::_exit(0);
  }
  REQUIRE(server > 0);
  REQUIRE(eventually([&] { return pids_in(directory / "pids").size() == scattered; }));
  const auto pids = pids_in(directory / "pids");
  CHECK_FALSE(all_gone(pids));
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  CHECK(gone(pids));
}

SCENARIO("a killed guard takes the agent and the helpers of its session along") {
  running_child child{shell("sleep 600 & echo $!; wait")};
  REQUIRE(child.process);
  REQUIRE(child.until([&] { return !child.out.empty(); }));
  const int helper = std::stoi(child.out);
  const int agent = child->pid();
  ::kill(guard_of(agent), SIGKILL);
  REQUIRE(child.until_exit());
  CHECK(child.exit->signal == SIGKILL);
  CHECK(gone({agent, helper}));
}

SCENARIO("of a killed guard's child, helpers that left the session are found by their mark") {
  scratch directory;
  running_child other{marked(shell("echo ready; sleep 600"))};
  REQUIRE(other.process);
  std::vector<int> pids;
  SECTION("killed by somebody else") {
    running_child child{marked(scattering(directory, "echo ready; sleep 600"))};
    REQUIRE(child.process);
    REQUIRE(child.until([&] { return child.out == "ready\n"; }));
    pids = pids_in(directory / "pids");
    ::kill(guard_of(child->pid()), SIGKILL);
    REQUIRE(child.until_exit());
    CHECK(gone(pids));
  }
  SECTION("killed by the agent") {
    running_child child{marked(scattering(directory, "kill -9 $PPID; sleep 600"))};
    REQUIRE(child.process);
    REQUIRE(child.until_exit());
    pids = pids_in(directory / "pids");
    CHECK(gone(pids));
  }
  CHECK(pids.size() == scattered);
  CHECK(alive(other->pid()));
}

SCENARIO("a stopped guard delays the end of its tree by its time limit only") {
  scratch directory;
  std::vector<int> pids;
  int guard = 0;
  SECTION("when the tree is killed") {
    running_child child{marked(scattering(directory, "echo ready; sleep 600"))};
    REQUIRE(child.process);
    REQUIRE(child.until([&] { return child.out == "ready\n"; }));
    pids = pids_in(directory / "pids");
    ::kill(guard = guard_of(child->pid()), SIGSTOP);
    const auto begin = std::chrono::steady_clock::now();
    child->kill_tree();
    REQUIRE(child.until_exit());
    CHECK(std::chrono::steady_clock::now() - begin < tidemark::child::guard_limit + 3s);
    CHECK(gone(pids));
  }
  SECTION("when the owner has let go") {
    boost::asio::io_context io;
    auto started = tidemark::child::spawn(
      io, marked(scattering(directory, "echo $PPID > \"$PIDS.guard\"; sleep 600")), {});
    REQUIRE(started);
    REQUIRE(eventually([&] { return !contents(directory / "pids.guard").empty(); }));
    pids = pids_in(directory / "pids");
    ::kill(guard = guard_of((*started)->pid()), SIGSTOP);
    started->reset();
    io.run();
    CHECK(gone(pids));
  }
  CHECK(pids.size() == scattered);
  CHECK_FALSE(alive(guard));
}

SCENARIO("helpers that fork without end are stopped") {
  // Chains that renew themselves, each link in a session of its own and without its parent.
  auto options = run({"bash", "-c",
                      "link() { (setsid bash -c 'link' &) ; }; export -f link; "
                      "for i in 1 2 3 4 5 6 7 8; do link; done; echo ready; sleep 600"});
  running_child child{options};
  REQUIRE(child.process);
  REQUIRE(child.until([&] { return !child.out.empty(); }));
  child->kill_tree();
  CHECK(child.until_exit());
}
