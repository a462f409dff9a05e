// What a server costs that has nothing to do: memory when idle and with idle readers, and the time
// from its start to its first answer, with an empty log, with a large one, and after a kill with as
// much write-ahead log as the settings allow.
//
// usage: footprint_bench [--repeats N] [--readers N] [--workspaces N] [--events N]
//
// Runs the real server in a directory of its own, with the demo agent, on a free loopback port.
// Prints JSON lines and, to stderr, a table.
#include "base/logging.hpp"
#include "bench/loopback.hpp"
#include "bench/quantile.hpp"
#include "bench/stored_log.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/poll_until.hpp"
#include "tests/support/server_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

extern char** environ; // NOLINT: handed on as it is

namespace {

using namespace tidemark;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

struct settings {
  std::size_t repeats = 5;
  std::size_t readers = 1000;
  std::uint64_t workspaces = 10'000;
  std::uint64_t events = 1'000'000;
};

settings parse(int argc, char** argv) {
  settings given;
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto value = std::strtoull(argv[i + 1], nullptr, 10);
    if (!std::strcmp(argv[i], "--repeats"))
      given.repeats = value;
    else if (!std::strcmp(argv[i], "--readers"))
      given.readers = value;
    else if (!std::strcmp(argv[i], "--workspaces"))
      given.workspaces = value;
    else if (!std::strcmp(argv[i], "--events"))
      given.events = value;
  }
  return given;
}

// -- what is measured --------------------------------------------------------

/// Of a process, in MB (10^6 bytes).
struct memory {
  double resident = 0;     ///< VmRSS: pages of shared libraries included
  double proportional = 0; ///< PSS: those divided by who shares them
};

double megabytes_at(const std::string& text, std::string_view name) {
  const auto at = text.find(std::string{"\n"} + std::string{name} + ":");
  if (at == std::string::npos)
    throw std::runtime_error("no " + std::string{name} + " in /proc");
  return std::strtod(text.c_str() + at + name.size() + 2, nullptr) * 1024 / 1e6;
}

memory memory_of(pid_t pid) {
  const auto proc = "/proc/" + std::to_string(pid);
  return {megabytes_at(test::read_file(proc + "/status"), "VmRSS"),
          megabytes_at(test::read_file(proc + "/smaps_rollup"), "Pss")};
}

double milliseconds_since(steady::time_point started) {
  return std::chrono::duration<double, std::milli>(steady::now() - started).count();
}

std::string listening_url(const test::server_process& server, std::size_t from) {
  const std::string mark = "listening on ";
  for (const auto end = steady::now() + 60s; steady::now() < end;) {
    const auto output = server.output();
    const auto at = output.find(mark, from);
    const auto line_end = at == std::string::npos ? at : output.find('\n', at);
    if (line_end != std::string::npos)
      return output.substr(at + mark.size(), line_end - at - mark.size());
    std::this_thread::sleep_for(200us);
  }
  throw std::runtime_error("the server does not listen; it printed:\n" + server.output());
}

/// Starts it; milliseconds to its first 200.
double time_start(test::server_process& server) {
  const auto before = server.output().size();
  const auto started = steady::now();
  server.launch();
  bench::loopback client{listening_url(server, before)};
  client.send("GET", "/health", "");
  if (!client.read_until("\r\n\r\n").starts_with("HTTP/1.1 200"))
    throw std::runtime_error("the server is not healthy");
  return milliseconds_since(started);
}

/// Runs a command of the same program that does nothing: what the machine takes for a process of this
/// size, right now. Milliseconds to its end.
double time_process() {
  auto path = test::program("tidemark");
  std::string command = "version";
  std::array<char*, 3> argv{path.data(), command.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const auto started = steady::now();
  const int problem = ::posix_spawn(&child, path.c_str(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  int raw = 0;
  if (problem != 0 || ::waitpid(child, &raw, 0) != child || raw != 0)
    throw std::runtime_error("cannot run " + path);
  return milliseconds_since(started);
}

// -- the cases ---------------------------------------------------------------

/// The figures of one line of the report, each repeat one value.
struct figure {
  std::string name;
  std::string unit;
  double target = 0; ///< below this; 0: a floor, to compare with
  std::vector<double> values = {};
};

void report(const figure& f) {
  const auto typical = bench::median(f.values);
  const auto worst = bench::quantile(f.values, 1);
  const auto has_target = f.target > 0;
  const auto is_met = typical < f.target;
  std::cout << fmt::format(
    R"({{"bench":"footprint","case":"{}","unit":"{}","repeats":{},"median":{:.2f},"worst":{:.2f})",
    f.name, f.unit, f.values.size(), typical, worst);
  if (has_target)
    std::cout << fmt::format(R"(,"target":{},"met":{})", f.target, is_met);
  std::cout << "}\n";
  std::cerr << fmt::format("{:<40}{:>9.1f} {:<3}{:>9.1f}", f.name, typical, f.unit, worst);
  if (has_target)
    std::cerr << fmt::format("{:>9.0f}  {}", f.target, is_met ? "met" : "MISSED");
  std::cerr << '\n';
}

constexpr std::size_t read_workspaces = 8;

std::string workspace_path(std::size_t i) {
  return fmt::format("/api/v1/workspaces/read-{}", i % read_workspaces);
}

/// One finished turn in each of the workspaces that are read; their heads.
std::vector<std::int64_t> prepare_workspaces(const test::http_client& client) {
  std::vector<std::int64_t> heads;
  auto prompt = json::object();
  prompt["prompt"] = "ECHO ready";
  for (std::size_t i = 0; i < read_workspaces; ++i) {
    if (client.post(workspace_path(i) + "/turns", prompt).status != 202)
      throw std::runtime_error("the server does not take turns");
    const auto is_done = [&] {
      const auto page =
        client.get(workspace_path(i) + "/events?types=turn.completed&limit=1").parsed();
      const auto events = page.find("events");
      return events != page.end() && !events->empty();
    };
    if (!test::poll_until(is_done, 30s))
      throw std::runtime_error("a turn does not end");
  }
  std::this_thread::sleep_for(500ms); // what follows a turn is written, too
  for (std::size_t i = 0; i < read_workspaces; ++i)
    heads.push_back(int_or(client.get(workspace_path(i) + "/events?limit=1").parsed(), "head", 0));
  return heads;
}

void measure_memory(const settings& given, figure& idle, figure& idle_pss, figure& readers,
                    figure& readers_pss) {
  test::server_process server;
  std::this_thread::sleep_for(3s); // the agent is known and the start's memory is back
  const auto alone = memory_of(server.pid());
  idle.values.push_back(alone.resident);
  idle_pss.values.push_back(alone.proportional);

  const auto heads = prepare_workspaces({server.url(), server.token()});
  const auto before = memory_of(server.pid());
  std::vector<bench::loopback> following;
  for (std::size_t i = 0; i < given.readers; ++i) {
    following.emplace_back(server.url());
    following.back().send(
      "GET", fmt::format("{}/events?follow=true&after={}", workspace_path(i), heads[i % 8]),
      server.token(), {}, "text/event-stream");
    following.back().read_until("event: hello");
  }
  std::this_thread::sleep_for(1s);
  const auto with = memory_of(server.pid());
  readers.values.push_back(with.resident - before.resident);
  readers_pss.values.push_back(with.proportional - before.proportional);
}

/// Starts of a server whose data directory `prepare` sets up anew, off the clock.
template <class Prepare>
void measure_starts(std::size_t repeats, test::server_process& server, figure& into, figure& floor,
                    Prepare prepare) {
  for (std::size_t i = 0; i < repeats; ++i) {
    server.kill();
    prepare();
    floor.values.push_back(time_process());
    into.values.push_back(time_start(server));
    server.terminate();
  }
}

/// Runs this program again, as the process that dies with a full write-ahead log.
void crash_with_full_wal(const std::string& directory) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", "footprint_bench", "--grow-wal", directory.c_str(), nullptr);
    ::_exit(127);
  }
  int raw = 0;
  if (child < 0 || ::waitpid(child, &raw, 0) != child || !WIFSIGNALED(raw))
    throw std::runtime_error("the write-ahead log could not be filled");
}

void run(const settings& given) {
  figure idle{"idle server, resident", "MB", 30};
  figure idle_pss{"idle server, proportional", "MB", 30};
  figure readers{fmt::format("{} idle readers, resident", given.readers), "MB", 20};
  figure readers_pss{fmt::format("{} idle readers, proportional", given.readers), "MB", 20};
  for (std::size_t i = 0; i < given.repeats; ++i)
    measure_memory(given, idle, idle_pss, readers, readers_pss);

  figure fresh{"start, new directory", "ms", 150};
  figure empty{"start, empty log", "ms", 150};
  figure large{fmt::format("start, {} events", given.events), "ms", 1000};
  figure killed{"the same after a kill, full WAL", "ms", 1000};
  figure floor{"floor: `tidemark version`", "ms"};
  test::server_process server;
  const auto data = server.path("data");
  measure_starts(given.repeats, server, fresh, floor, [&] { std::filesystem::remove_all(data); });
  measure_starts(given.repeats, server, empty, floor, [] {});
  std::filesystem::remove_all(data);
  bench::write_log(data, given.workspaces, given.events);
  time_start(server); // takes in what the writing process left in the write-ahead log
  server.terminate();
  measure_starts(given.repeats, server, large, floor, [] {});
  measure_starts(given.repeats, server, killed, floor, [&] { crash_with_full_wal(data); });

  std::cerr << fmt::format("{:<40}{:>9}    {:>9}{:>9}\n", "case", "median", "worst", "target");
  for (const auto* each :
       {&idle, &idle_pss, &readers, &readers_pss, &fresh, &empty, &large, &killed, &floor})
    report(*each);
}

} // namespace

int main(int argc, char** argv) {
  logging::set_level(logging::level::warning);
  try {
    if (argc == 3 && !std::strcmp(argv[1], "--grow-wal"))
      bench::grow_wal_and_die(argv[2]);
    // Both ends of every connection: the server takes its limit over from us.
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    run(parse(argc, argv));
  } catch (const std::exception& failure) {
    std::cerr << "footprint_bench: " << failure.what() << "\n";
    return 1;
  }
}
