#include "process/orphans.hpp"

#include "tests/process/running_child.hpp"

#include <algorithm>

#include <unistd.h>

using namespace tidemark;
using namespace tidemark::testing;

SCENARIO("processes that carry the server's mark are killed, all others are left alone") {
  const auto instance = "test-" + std::to_string(::getpid());
  auto ours = shell("echo ready; sleep 600");
  ours.environment[std::string{instance_mark}] = instance;
  auto other_server = ours;
  other_server.environment[std::string{instance_mark}] = instance + "0";
  auto other_name = ours;
  other_name.environment.erase(std::string{instance_mark});
  other_name.environment["X_" + std::string{instance_mark}] = instance;
  running_child marked{ours}, longer{other_server}, unmarked{other_name};
  for (auto* one : {&marked, &longer, &unmarked}) {
    REQUIRE(one->process);
    REQUIRE(one->until([&] { return !one->out.empty(); }));
  }

  const auto killed = kill_marked(instance);
  CHECK(std::count(killed.begin(), killed.end(), marked->pid()) == 1);
  CHECK(std::count(killed.begin(), killed.end(), longer->pid()) == 0);
  CHECK_FALSE(alive(marked->pid()));
  CHECK(alive(longer->pid()));
  CHECK(alive(unmarked->pid()));
  CHECK(marked.until_exit());
  CHECK(kill_marked(instance).empty());
}

SCENARIO("an empty instance marks nothing") {
  CHECK(kill_marked("").empty());
}
