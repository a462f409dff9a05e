#include "tests/storage/support.hpp"
#include "tests/support/small_disk.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

extern char** environ;

using namespace tidemark;
using namespace tidemark::testing;

namespace {

using clock_type = std::chrono::steady_clock;
constexpr const char* directory_variable = "TIDEMARK_TEST_LOG";
constexpr const char* acknowledged_variable = "TIDEMARK_TEST_ACKNOWLEDGED";

std::string data_at(std::string_view name, offset at) {
  return fmt::format("{} {} {}", name, at.value, std::string(at.value * 37 % 400, 'x'));
}

/// A process that appends until it is killed; a fresh one, because RocksDB does not survive fork.
class writer_process {
public:
  writer_process(const std::filesystem::path& directory,
                 const std::filesystem::path& acknowledged) {
    ::setenv(directory_variable, directory.c_str(), 1);
    ::setenv(acknowledged_variable, acknowledged.c_str(), 1);
    std::string self = "/proc/self/exe", name = "appends until it is killed";
    char* arguments[] = {self.data(), name.data(), nullptr};
    if (::posix_spawn(&pid_, self.c_str(), nullptr, nullptr, arguments, environ) != 0)
      throw std::runtime_error("cannot start the writer");
    ::unsetenv(directory_variable);
    ::unsetenv(acknowledged_variable);
  }
  writer_process(const writer_process&) = delete;
  writer_process& operator=(const writer_process&) = delete;
  ~writer_process() { kill(); }
  void kill() {
    if (pid_ <= 0)
      return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

private:
  pid_t pid_ = -1;
};

/// The highest acknowledged offset of each stream. The last line may be cut: it does not count.
std::map<std::string, std::uint64_t> acknowledged_heads(const std::filesystem::path& file,
                                                        std::size_t& lines) {
  std::map<std::string, std::uint64_t> heads;
  std::istringstream in{slurp(file)};
  std::string line;
  for (lines = 0; std::getline(in, line) && !in.eof(); ++lines) {
    std::istringstream fields{line};
    std::string name;
    std::uint64_t head = 0;
    fields >> name >> head;
    heads[name] = head;
  }
  return heads;
}

void check_nothing_lost(const event_log& log,
                        const std::map<std::string, std::uint64_t>& acknowledged) {
  std::uint64_t sum = 0;
  for (const auto& [name, head] : acknowledged) {
    CAPTURE(name);
    const auto found = log.find(name);
    REQUIRE(found.has_value());
    REQUIRE(found->head.value >= head);
  }
  for (const auto& stream : log.streams()) {
    const auto events = data_of(log, stream.id);
    REQUIRE(events.size() == stream.head.value);
    for (std::size_t i = 0; i < events.size(); ++i)
      REQUIRE(events[i] == data_at(stream.name, offset{i + 1}));
    REQUIRE_FALSE(log.verify(stream.id)->first_bad);
    sum += events.size();
  }
  REQUIRE(log.figures().head == position{sum});
}

std::string incompressible(std::mt19937& random, std::size_t size) {
  std::string text(size, ' ');
  for (auto& c : text)
    c = static_cast<char>('!' + random() % 90);
  return text;
}

} // namespace

TEST_CASE("appends until it is killed", "[.]") {
  const char* directory = std::getenv(directory_variable);
  const char* acknowledged = std::getenv(acknowledged_variable);
  if (!directory || !acknowledged)
    return;
  const auto log = open_log(directory);
  const int fd = ::open(acknowledged, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  std::mt19937 random{std::random_device{}()};
  const std::vector<std::string> names{"a", "b", "c"};
  for (;;) {
    std::vector<append_request> requests;
    std::vector<std::string> written;
    for (const auto& name : names) {
      const auto info = *log->acquire(name);
      auto request = request_for(info, {});
      for (auto left = random() % 4; left > 0; --left)
        request.events.push_back(
          event_of(data_at(name, info.head.plus(request.events.size() + 1))));
      if (request.events.empty())
        continue;
      requests.push_back(std::move(request));
      written.push_back(name);
    }
    const auto answers = log->commit(requests);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i])
        return;
      const auto line = fmt::format("{} {}\n", written[i], answers[i]->last.value);
      if (::write(fd, line.data(), line.size()) < 0)
        return;
    }
  }
}

SCENARIO("what was acknowledged survives SIGKILL at any moment, dense and unaltered") {
  const auto seed = random_seed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  const temporary_directory directory;
  const auto data = directory.path() / "log";
  const auto acknowledged = directory.path() / "acknowledged";
  for (int round = 0; round < 6; ++round) {
    CAPTURE(round);
    std::size_t lines_before = 0;
    acknowledged_heads(acknowledged, lines_before);
    {
      writer_process writer{data, acknowledged};
      const auto target = lines_before + 1 + random() % 300;
      const auto deadline = clock_type::now() + std::chrono::seconds{60};
      for (std::size_t lines = 0; lines < target;) {
        acknowledged_heads(acknowledged, lines);
        REQUIRE(clock_type::now() < deadline);
        std::this_thread::yield();
      }
      if (round == 0) {
        const auto why = refusal_to_open(options_for(data));
        CHECK(why.code == errc::locked);
        CHECK(why.message.find(fmt::format("process {}", writer.pid())) != std::string::npos);
      }
      writer.kill();
    }
    std::size_t lines = 0;
    const auto heads = acknowledged_heads(acknowledged, lines);
    check_nothing_lost(*open_log(data), heads);
  }
}

SCENARIO("a log whose disk is nearly full answers so, writes nothing, and goes on by itself") {
  const test::small_disk disk;
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  std::mt19937 random{1};
  const auto ballast = disk.path() / "ballast";
  auto options = options_for(disk.path() / "log");
  options.min_free_bytes = 64ULL << 20; // more than the disk has: a tenth of it is kept instead
  std::vector<std::string> written;
  {
    const auto log = open_log(options);
    // What fits beside it stays in memory: a flush that runs out of space is another scenario.
    overwrite(ballast, incompressible(random, 32 << 20));
    append_result answer;
    for (int i = 0; i < 400; ++i) {
      auto data = incompressible(random, 100 << 10);
      answer = append(*log, "a", data);
      if (!answer)
        break;
      written.push_back(std::move(data));
    }
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().why.code == errc::full);
    CHECK(answer.error().head == offset{written.size()});
    CHECK_FALSE(log->health().accepting);
    CHECK(log->health().reason.find("Free some space") != std::string::npos);
    CHECK_FALSE(log->try_recover());
    CHECK(data_of(*log, log->find("a")->id) == written);

    std::filesystem::remove(ballast);
    written.push_back("goes on");
    CHECK(append(*log, "a", "goes on").has_value());
    CHECK(log->health().accepting);
  }
  const auto log = open_log(options);
  CHECK((data_of(*log, log->find("a")->id) == written));
}

SCENARIO("a log that refused an append for lack of space says so until it fits or one is written") {
  const test::small_disk disk;
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  constexpr std::size_t left = 4 << 20, too_much = 8 << 20;
  std::mt19937 random{1};
  auto options = options_for(disk.path() / "log");
  options.min_free_bytes = 1 << 20;
  const auto log = open_log(options);
  const auto ballast = disk.path() / "ballast";
  const auto available = std::filesystem::space(disk.path()).available;
  overwrite(ballast, incompressible(random, available - options.min_free_bytes - left));
  CHECK(log->health().accepting);
  const auto refuse_one = [&] {
    const auto answer = append(*log, "a", std::string(too_much, 'x'));
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().why.code == errc::full);
    CHECK_FALSE(log->health().accepting);
    CHECK_FALSE(log->try_recover());
  };
  refuse_one();
  REQUIRE(append(*log, "a", "small").has_value());
  CHECK(log->health().accepting);
  refuse_one();
  std::filesystem::remove(ballast);
  CHECK(log->health().accepting);
  CHECK(log->try_recover());
}

SCENARIO("a database that ran out of space is reopened once there is some, without loss") {
  const test::small_disk disk;
  if (!disk.mounted()) {
    WARN("skipped: mounting a small file system needs root");
    return;
  }
  const auto seed = random_seed();
  CAPTURE(seed);
  std::mt19937 random{seed};
  const auto ballast = disk.path() / "ballast";
  const auto options =
    options_for(disk.path() / "log"); // no reserve: the database itself hits the end
  std::vector<std::string> acknowledged;
  auto log = open_log(options);
  int latched = 0;
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    // Little room while the ballast is there; without it enough for compactions, which need as much
    // again as they compact.
    const auto room = (4 << 20) + random() % (3 << 20);
    const auto available = std::filesystem::space(disk.path()).available;
    overwrite(ballast, incompressible(random, available > room ? available - room : 0));
    auto stopped = false;
    for (auto refused = false; !refused;) {
      // The check for space counts data and raw; bytes in `turn` get past it, into the database.
      auto e = event_of(std::to_string(acknowledged.size()));
      e.turn = incompressible(random, 1 + random() % (60 << 10));
      const auto answer = append(*log, request_for(*log->acquire("a"), {e}));
      refused = !answer.has_value();
      if (!refused)
        acknowledged.push_back(e.data);
      else
        stopped = answer.error().why.code == errc::io;
    }
    latched += stopped;
    // One that was refused for lack of space alone goes on as soon as a compaction has freed some.
    if (stopped) {
      CHECK_FALSE(log->health().reason.empty());
      CHECK_FALSE(append(*log, "a", "not before it was reopened").has_value());
    }
    CHECK(data_of(*log, log->find("a")->id) == acknowledged);
    std::filesystem::remove(ballast);
    const auto deadline = clock_type::now() + std::chrono::seconds{30};
    // A background job that fails late may stop the database once more; it heals like the first time.
    for (auto goes_on = false; !goes_on;) {
      REQUIRE(clock_type::now() < deadline);
      if (!log->try_recover()) {
        std::this_thread::yield();
        continue;
      }
      const auto stored = data_of(*log, log->find("a")->id);
      REQUIRE(stored.size() >= acknowledged.size());
      REQUIRE((std::equal(acknowledged.begin(), acknowledged.end(), stored.begin())));
      acknowledged = stored; // what was not acknowledged may have been written: now it counts
      REQUIRE_FALSE(log->verify(log->find("a")->id)->first_bad);
      goes_on = append(*log, "a", "goes on").has_value();
    }
    acknowledged.emplace_back("goes on");
  }
  CHECK(latched > 0);
  log.reset();
  CHECK((data_of(*open_log(options), stream_id{1}) == acknowledged));
}
