#include "process/child.hpp"

#include "tests/process/running_child.hpp"

#include <random>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

std::string random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random{seed};
  std::string bytes(size, '\0');
  for (auto& byte : bytes)
    byte = static_cast<char>(random());
  return bytes;
}

bool has_zombie() {
  return ::waitpid(-1, nullptr, WNOHANG | WNOWAIT) > 0;
}

} // namespace

SCENARIO("every byte goes through stdin and stdout unchanged, however large the input") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  const auto sent = random_bytes(1 << 20, seed) + "한글 漢字 🌊\r\n\xff\xfe";
  running_child cat{run({"cat"})};
  REQUIRE(cat.process);
  cat->write(sent);
  cat->write("the end");
  cat->close_stdin();
  REQUIRE(cat.until_exit());
  CHECK(cat.exit->code == 0);
  CHECK(cat.out.size() == sent.size() + 7);
  CHECK(cat.out == sent + "the end");
  CHECK(cat.err.empty());
}

SCENARIO("input that a process does not read is told, however much of it fits into the pipe") {
  for (const std::size_t size : {std::size_t{20}, std::size_t{1} << 20}) {
    INFO(size << " bytes");
    running_child deaf{shell("echo ready; sleep 600")};
    REQUIRE(deaf.process);
    deaf->write(std::string(size, 'x'));
    CHECK_FALSE(deaf.until_exit(200ms));
    CHECK(deaf->unread_input() >= size);
    running_child reads{shell("head -c " + std::to_string(size) + " > /dev/null; sleep 600")};
    REQUIRE(reads.process);
    reads->write(std::string(size, 'x'));
    for (int i = 0; i < 100 && reads->unread_input() > 0; ++i)
      reads.until_exit(100ms);
    CHECK(reads->unread_input() == 0);
  }
}

SCENARIO("an agent that floods stderr before its first output line is not blocked") {
  running_child child{shell("head -c 5000000 /dev/zero >&2; echo done")};
  REQUIRE(child.process);
  REQUIRE(child.until_exit());
  CHECK(child.out == "done\n");
  CHECK(child.err.size() == 5'000'000);
}

SCENARIO("the child's environment and directory are exactly what was given") {
  scratch directory;
  auto options = run({"env"});
  options.environment = {{"PATH", "/usr/bin:/bin"}, {"EMPTY", ""}, {"TEXT", "a=b 🌊\nnext"}};
  running_child env{options};
  REQUIRE(env.process);
  REQUIRE(env.until_exit());
  CHECK(env.out == "EMPTY=\nPATH=/usr/bin:/bin\nTEXT=a=b 🌊\nnext\n");

  auto where = run({"pwd"});
  where.cwd = directory / "";
  running_child pwd{where};
  REQUIRE(pwd.process);
  REQUIRE(pwd.until_exit());
  CHECK(pwd.out + "/" == (directory / "").substr(0, pwd.out.size() - 1) + "\n/");
}

SCENARIO("the child has no descriptor but 0, 1 and 2, and no signal blocked or ignored") {
  running_child child{shell("ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign)' /proc/self/status")};
  REQUIRE(child.process);
  REQUIRE(child.until_exit());
  int descriptors = 0;
  unsigned long long blocked = 0, ignored = 0;
  REQUIRE(
    std::sscanf(child.out.c_str(), "%d SigBlk: %llx SigIgn: %llx", &descriptors, &blocked, &ignored)
    == 3);
  CHECK(descriptors == 4); // the fourth is the directory that ls reads
  CHECK(blocked == 0);
  CHECK((ignored & 0x7fffffff) == 0); // above are signals of the C library, out of reach
}

SCENARIO("an exit code and a signal are reported as they were") {
  running_child code{shell("exit 42")};
  REQUIRE(code.process);
  REQUIRE(code.until_exit());
  CHECK(code.exit->code == 42);
  CHECK(code.exit->signal == 0);

  running_child signal{shell("kill -SEGV $$")};
  REQUIRE(signal.process);
  REQUIRE(signal.until_exit());
  CHECK(signal.exit->code == -1);
  CHECK(signal.exit->signal == SIGSEGV);
  CHECK(signal.exits == 1);
}

SCENARIO("a missing executable, a missing directory and a missing guard are told apart") {
  running_child nothing{run({"no-such-agent"})};
  REQUIRE_FALSE(nothing.process);
  CHECK(nothing.process.error().code == errc::not_found);
  CHECK(nothing.process.error().message
        == "executable \"no-such-agent\": No such file or directory in PATH /usr/bin:/bin");

  auto nowhere = run({"true"});
  nowhere.cwd = "/no/such/directory";
  running_child lost{nowhere};
  REQUIRE_FALSE(lost.process);
  CHECK(lost.process.error().code == errc::not_found);
  CHECK(lost.process.error().message
        == "working directory \"/no/such/directory\": No such file or directory");

  auto unguarded = run({"true"});
  unguarded.guard = "/no/such/guard";
  running_child alone{unguarded};
  REQUIRE_FALSE(alone.process);
  CHECK(alone.process.error().message == "guard \"/no/such/guard\": No such file or directory");
  CHECK_FALSE(has_zombie());
}

SCENARIO("pid and signal mean the agent, not its guard") {
  running_child child{
    shell("trap 'echo caught; exit 9' TERM; echo $$; while :; do sleep 0.05; done")};
  REQUIRE(child.process);
  REQUIRE(child.until([&] { return child.out.find('\n') != std::string::npos; }));
  CHECK(child.out == std::to_string(child->pid()) + "\n");
  child->signal(SIGTERM);
  REQUIRE(child.until_exit());
  CHECK(child.out == std::to_string(child->pid()) + "\ncaught\n");
  CHECK(child.exit->code == 9);
}

SCENARIO("writing to an agent that has closed its stdin is harmless") {
  running_child child{shell("exec <&-; echo closed; sleep 0.2; exit 5")};
  REQUIRE(child.process);
  REQUIRE(child.until([&] { return !child.out.empty(); }));
  child->write(std::string(1 << 20, 'x'));
  child->write("more");
  REQUIRE(child.until_exit());
  CHECK(child.exit->code == 5);
  child->write("after the end");
  child->close_stdin();
  child->signal(SIGTERM);
  child->kill_tree();
}

SCENARIO("while output is paused the agent waits, and nothing is lost even if it ends meanwhile") {
  running_child child{shell("head -c 3000000 /dev/zero; echo waited >&2; printf end")};
  REQUIRE(child.process);
  child->pause_output(true);
  CHECK_FALSE(child.until([&] { return !child.err.empty(); }, 300ms));
  CHECK(child.out.size() <= 65'536);
  child->pause_output(false);
  REQUIRE(child.until_exit());
  CHECK(child.err == "waited\n");
  CHECK(child.out.size() == 3'000'003);

  running_child last{shell("printf 'last words'")};
  REQUIRE(last.process);
  last->pause_output(true);
  REQUIRE(last.until([&] { return !alive(last->pid()); }));
  CHECK_FALSE(last.until_exit(child::drain_limit + 500ms));
  last->pause_output(false);
  REQUIRE(last.until_exit());
  CHECK(last.out == "last words");
}

SCENARIO("a stranger that holds the agent's stdout delays its end by the drain limit at most") {
  running_child child{shell("read line; exit 3")};
  REQUIRE(child.process);
  const int held =
    ::open(("/proc/" + std::to_string(child->pid()) + "/fd/1").c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(held >= 0);
  const auto begin = std::chrono::steady_clock::now();
  child->write("go\n");
  REQUIRE(child.until_exit());
  const auto took = std::chrono::steady_clock::now() - begin;
  ::close(held);
  CHECK(child.exit->code == 3);
  CHECK(took >= child::drain_limit);
  CHECK(took < child::drain_limit + 2s);
}

SCENARIO("a hundred runs leave no descriptor and no zombie behind") {
  const auto before = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    running_child child{shell(i % 3 ? "echo x; sleep 100 &" : "exit 1")};
    REQUIRE(child.process);
    if (i % 2)
      REQUIRE(child.until_exit());
    if (i % 5 == 0)
      running_child{run({"no-such-agent"})};
  }
  CHECK(open_descriptors() == before);
  CHECK_FALSE(has_zombie());
}

SCENARIO("the owner may destroy a child from inside its callbacks") {
  boost::asio::io_context io;
  std::unique_ptr<child> process;
  bool ended = false;
  child::callbacks events;
  events.on_stdout = [&](std::string_view) { process.reset(); };
  events.on_exit = [&](child_exit) { ended = true; };
  auto started = child::spawn(io, shell("echo one; echo two; sleep 100"), std::move(events));
  REQUIRE(started);
  const int pid = (*started)->pid();
  process = std::move(*started);
  io.run_for(10s);
  CHECK(process == nullptr);
  CHECK_FALSE(ended);
  CHECK_FALSE(alive(pid));
  CHECK_FALSE(has_zombie());
}
