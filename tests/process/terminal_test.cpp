#include "process/terminal.hpp"

#include "tests/process/running_child.hpp"

#include <unistd.h>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

child_options in_terminal(child_options options, terminal_size size = {}) {
  options.terminal = size;
  return options;
}

bool shows(running_child& child, const std::string& text) {
  return child.until([&] { return child.out.find(text) != std::string::npos; });
}

} // namespace

SCENARIO("B79: a program in a terminal is in charge of it") {
  running_child child{in_terminal(shell("tty; echo via dev > /dev/tty; stty size; echo err >&2; "
                                        "ps -o pid=,sid=,tpgid= -p $$ | xargs echo ids"),
                                  {33, 77})};
  REQUIRE(child.process);
  const int pid = child->pid();
  REQUIRE(child.until_exit());
  INFO(child.out);
  CHECK(child.exit->code == 0);
  CHECK(child.out.starts_with("/dev/pts/"));
  CHECK(child.out.find("via dev\r\n") != std::string::npos);
  CHECK(child.out.find("33 77\r\n") != std::string::npos);
  CHECK(child.out.find("err\r\n") != std::string::npos);
  const auto me = std::to_string(pid);
  CHECK(child.out.find("ids " + me + " " + me + " " + me) != std::string::npos);
}

SCENARIO("B79: ^C reaches the program in the foreground, and it hears of a new size") {
  running_child child{
    in_terminal(shell("trap 'stty size' WINCH; trap 'echo got int; exit 5' INT; echo ready; "
                      "while :; do sleep 0.02; done"))};
  REQUIRE(child.process);
  REQUIRE(shows(child, "ready"));
  child->resize({50, 132});
  REQUIRE(shows(child, "50 132"));
  child->write("\x03");
  REQUIRE(child.until_exit());
  CHECK(child.out.find("got int") != std::string::npos);
  CHECK(child.exit->code == 5);
}

SCENARIO("a terminal that nobody reads stops its program, and lets it go on when it is read") {
  scratch directory;
  auto options =
    in_terminal(shell("head -c 1000000 /dev/zero | tr '\\0' x; echo; touch \"$DONE\""));
  options.environment["DONE"] = directory / "done";
  running_child child{options};
  REQUIRE(child.process);
  child->pause_output(true);
  CHECK_FALSE(child.until_exit(200ms));
  CHECK_FALSE(std::filesystem::exists(directory / "done"));
  child->pause_output(false);
  REQUIRE(child.until_exit());
  CHECK(std::filesystem::exists(directory / "done"));
  CHECK(std::count(child.out.begin(), child.out.end(), 'x') == 1'000'000);
}

SCENARIO("B80: what is typed arrives whole, and it is told how much still waits") {
  running_child child{
    in_terminal(shell("stty raw -echo; echo ready; head -c 262144 | sha256sum; echo over"))};
  REQUIRE(child.process);
  REQUIRE(shows(child, "ready"));
  std::string pasted;
  for (int i = 0; pasted.size() < 262'144; ++i)
    pasted += std::to_string(i) + "\n";
  pasted.resize(262'144);
  child->write(pasted);
  CHECK(child->pending_input() == pasted.size());
  REQUIRE(shows(child, "over"));
  CHECK(child->pending_input() == 0);
  // sha256sum of the numbers from 0, a line each, cut at 262144 bytes
  running_child expected_sum{shell("seq 0 100000 | head -c 262144 | sha256sum")};
  REQUIRE(expected_sum.until_exit());
  CHECK(child.out.find(expected_sum.out.substr(0, 64)) != std::string::npos);
}

SCENARIO("the whole tree of a program in a terminal dies with it") {
  scratch directory;
  auto options = in_terminal(shell("setsid sleep 600 & echo $! > \"$PIDS\"; sleep 600 & echo $! >> "
                                   "\"$PIDS\"; trap '' HUP; echo ready; sleep 600"));
  options.environment["PIDS"] = directory / "pids";
  running_child child{options};
  REQUIRE(child.process);
  REQUIRE(shows(child, "ready"));
  const auto pids = pids_in(directory / "pids");
  REQUIRE(pids.size() == 2);
  child->kill_tree();
  REQUIRE(child.until_exit());
  CHECK(all_gone(pids));
}

SCENARIO("a terminal leaves no descriptor behind, also if its program is not there") {
  const auto before = open_descriptors();
  {
    running_child missing{in_terminal(run({"no-such-program"}))};
    REQUIRE_FALSE(missing.process);
    CHECK(missing.process.error().code == errc::not_found);
    CHECK(missing.process.error().message.find("no-such-program") != std::string::npos);
    running_child child{in_terminal(shell("exit 0"))};
    REQUIRE(child.until_exit());
  }
  CHECK(open_descriptors() == before);
}

SCENARIO("B79: sizes from 1 to 10000 are sizes") {
  CHECK(terminal_size::checked(1, 1));
  CHECK(terminal_size::checked(10'000, 10'000));
  for (const auto& [rows, columns] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {-1, 5}, {70'000, 1}, {1, 0}}) {
    const auto size = terminal_size::checked(rows, columns);
    REQUIRE_FALSE(size);
    CHECK(size.error().code == errc::invalid_argument);
  }
}
