// What the server adds to a turn in a warm session: the time from the client's POST until the prompt
// is on the agent's stdin, and from the agent's `result` line until the end of the client's stream.
// What the agent does between the two is not counted. Two syncs of the log lie in it: of the accepted
// turn and of its result; so the time of one raw sync, measured between the turns, stands beside it.
//
// usage: turn_bench [--turns N] [--agent demo|claude]     default: both, 30 turns each
//
// Runs the real server with a recorder (bench/turn_recorder_main.cpp) before the agent: the demo
// agent, and the real Claude Code CLI with a model played by tests/tools/model_stand_in.mjs. Without
// the CLI that part is skipped, loudly. Prints JSON lines and, to stderr, a table.
#include "base/json.hpp"
#include "bench/loopback.hpp"
#include "bench/quantile.hpp"
#include "bench/raw_log.hpp"
#include "bench/turn_record.hpp"
#include "tests/support/claude_cli.hpp"
#include "tests/support/model_stand_in.hpp"
#include "tests/support/server_process.hpp"
#include "tests/support/temp_dir.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace tidemark;
namespace record = bench::turn_record;

constexpr std::size_t warm_up_turns = 3;
constexpr double target_ms = 5;
constexpr double ns_per_ms = 1e6;

struct settings {
  std::size_t turns = 30;
  std::string agent = "both";
};

settings parse(int argc, char** argv) {
  settings given;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--turns"))
      given.turns = std::strtoul(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--agent"))
      given.agent = argv[i + 1];
  }
  return given;
}

/// When a client sent its prompt and when it had the whole answer.
struct exchange_times {
  std::int64_t sent = 0;
  std::int64_t ended = 0;
};

/// The moments of one kind in the recorder's file.
std::vector<std::int64_t> moments(const std::string& text, std::string_view kind) {
  std::vector<std::int64_t> found;
  std::istringstream lines{text};
  std::string word;
  for (std::int64_t at = 0; lines >> word >> at;)
    if (word == kind)
      found.push_back(at);
  return found;
}

exchange_times run_turn(const test::server_process& server) {
  auto message = json::object();
  message["role"] = "user";
  message["content"] = "ECHO hello";
  message["workspace_id"] = "bench";
  message["source_chat_key"] = "bench";
  bench::loopback client{server.url()};
  const auto body = message.dump();
  exchange_times times;
  times.sent = bench::monotonic_ns();
  client.send("POST", "/api/v1/message/stream", server.token(), body, "text/event-stream");
  const auto answer = client.read_until("\r\n0\r\n\r\n");
  times.ended = bench::monotonic_ns();
  if (answer.find("\"type\":\"error\"") != std::string::npos)
    throw std::runtime_error("a turn failed:\n" + answer);
  return times;
}

/// The parts of each turn's overhead, in milliseconds.
struct overhead {
  std::vector<double> to_agent;
  std::vector<double> to_client;
  std::vector<double> both;
  std::vector<double> raw_sync;
};

overhead measure(const settings& given, std::map<std::string, std::string> environment,
                 const std::string& agent) {
  const test::temp_dir directory;
  const auto file = directory / "moments";
  environment["TIDEMARK_CLAUDE_BIN"] = TIDEMARK_TURN_RECORDER;
  environment["TIDEMARK_AGENT"] = "claude";
  environment[record::command_variable] = agent;
  environment[record::file_variable] = file;
  auto& passed = environment["TIDEMARK_AGENT_ENV"];
  passed += fmt::format("{}{},{}", passed.empty() ? "" : ",", record::command_variable,
                        record::file_variable);
  test::server_process server{{.environment = environment}};

  for (std::size_t i = 0; i < warm_up_turns; ++i)
    run_turn(server);
  overhead found;
  bench::raw_log raw{directory / "raw"};
  const std::string record_bytes(300, 'x');
  std::vector<exchange_times> turns;
  for (std::size_t i = 0; i < given.turns; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{100}); // the agent has come to rest
    const auto before = bench::monotonic_ns();
    raw.append(record_bytes);
    found.raw_sync.push_back(static_cast<double>(bench::monotonic_ns() - before) / ns_per_ms);
    turns.push_back(run_turn(server));
  }
  const auto text = test::read_file(file);
  const auto prompts = moments(text, record::prompt);
  const auto results = moments(text, record::result);
  for (const auto& turn : turns) {
    const auto prompt = std::ranges::lower_bound(prompts, turn.sent);
    const auto result = std::ranges::lower_bound(results, turn.sent);
    if (prompt == prompts.end() || result == results.end() || *result > turn.ended)
      throw std::runtime_error("the recorder missed a turn:\n" + server.output());
    found.to_agent.push_back(static_cast<double>(*prompt - turn.sent) / ns_per_ms);
    found.to_client.push_back(static_cast<double>(turn.ended - *result) / ns_per_ms);
    found.both.push_back(found.to_agent.back() + found.to_client.back());
  }
  return found;
}

void report(std::string_view agent, const overhead& found) {
  const auto p50 = bench::median(found.both);
  std::cout << fmt::format(
    R"({{"bench":"turn","agent":"{}","turns":{},"to_agent_p50_ms":{:.2f},"to_client_p50_ms":{:.2f},"overhead_p50_ms":{:.2f},"overhead_p95_ms":{:.2f},"raw_sync_p50_ms":{:.2f},"target":{},"met":{}}})"
    "\n",
    agent, found.both.size(), bench::median(found.to_agent), bench::median(found.to_client), p50,
    bench::quantile(found.both, 0.95), bench::median(found.raw_sync), target_ms, p50 < target_ms);
  std::cerr << fmt::format("{:<28}{:>12.2f}{:>12.2f}{:>12.2f}{:>12.2f}{:>12.2f}  {}\n", agent,
                           bench::median(found.to_agent), bench::median(found.to_client), p50,
                           bench::quantile(found.both, 0.95), bench::median(found.raw_sync),
                           p50 < target_ms ? "met" : "MISSED");
}

void run(const settings& given) {
  std::cerr << fmt::format("{:<28}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "ms added to a warm turn",
                           "to agent", "to client", "both p50", "both p95", "raw sync");
  if (given.agent != "claude")
    report("demo", measure(given, {}, test::program("tidemark-demo-agent")));
  if (given.agent == "demo")
    return;
  const auto claude = test::installed_claude();
  if (claude.empty()) {
    std::cerr << '\n' << test::claude_advice();
    return;
  }
  const test::temp_dir directory;
  const test::model_stand_in model{test::model_script()};
  report("claude", measure(given,
                           test::claude_environment(TIDEMARK_TURN_RECORDER,
                                                    directory / "settings.json", model.url()),
                           claude));
}

} // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& failure) {
    std::cerr << "turn_bench: " << failure.what() << "\n";
    return 1;
  }
}
