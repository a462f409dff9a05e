// How long an agent's line takes to reach an SSE reader: pipe, framing, adapter, log with sync, hub,
// HTTP. Compared in the same run with the least that any such server must do: pipe, append with
// fdatasync, socket. Prints JSON lines and a table.
#include "bench/latencies.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/server_process.hpp"
#include "tests/support/temp_dir.hpp"

#include <curl/curl.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace tidemark;

std::int64_t now_ns() {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

/// The floor: a line through a pipe, appended and synced, then through a socket.
bench::latencies measure_floor(int count, int gap_ms, const std::string& directory) {
  int pipe_ends[2];
  int socket_ends[2];
  const int file = ::open((directory + "/floor").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  if (file < 0 || ::pipe(pipe_ends) != 0 || ::socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends) != 0)
    throw std::runtime_error("cannot set up the floor measurement");
  constexpr std::size_t line_bytes = 200;

  std::thread writer{[&] {
    for (int i = 0; i < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{gap_ms});
      auto line = fmt::format("{:<{}}", now_ns(), line_bytes);
      if (::write(pipe_ends[1], line.data(), line.size()) < 0)
        return;
    }
    ::close(pipe_ends[1]);
  }};
  std::thread server{[&] {
    char line[line_bytes];
    for (ssize_t n = 0; (n = ::read(pipe_ends[0], line, sizeof line)) > 0;) {
      const auto size = static_cast<std::size_t>(n);
      if (::write(file, line, size) < 0 || ::fdatasync(file) != 0
          || ::write(socket_ends[0], line, size) < 0)
        break;
    }
    ::close(socket_ends[0]);
  }};
  bench::latencies seen;
  char line[line_bytes];
  while (::read(socket_ends[1], line, sizeof line) > 0)
    seen.add(std::chrono::nanoseconds{now_ns() - std::strtoll(line, nullptr, 10)});
  writer.join();
  server.join();
  for (int fd : {file, pipe_ends[0], socket_ends[1]})
    ::close(fd);
  return seen;
}

/// What the SSE reader has of a frame that may be cut anywhere.
struct reader_state {
  std::string rest;
  bench::latencies seen;
  bool finished = false;
};

std::size_t on_bytes(char* bytes, std::size_t size, std::size_t n, void* user) {
  auto& state = *static_cast<reader_state*>(user);
  state.rest.append(bytes, size * n);
  for (std::size_t end = 0; (end = state.rest.find("\n\n")) != std::string::npos;) {
    const std::string_view frame{state.rest.data(), end};
    if (frame.find("event: item.delta") != std::string_view::npos) {
      const auto at = frame.find("\"text\":\"");
      if (at != std::string_view::npos)
        state.seen.add(
          std::chrono::nanoseconds{now_ns() - std::strtoll(frame.data() + at + 8, nullptr, 10)});
    }
    state.finished =
      state.finished || frame.find("event: turn.completed") != std::string_view::npos;
    state.rest.erase(0, end + 2);
  }
  return state.finished ? 0 : size * n;
}

bench::latencies measure_server(int count, int gap_ms) {
  test::server_options options;
  options.environment["TIDEMARK_AGENT"] = "claude";
  options.environment["TIDEMARK_CLAUDE_BIN"] = TIDEMARK_LATENCY_AGENT;
  test::server_process server{options};
  const test::http_client client{server.url(), server.token()};

  // One turn first, so that the measured one runs in a live process.
  auto prompt = json::object();
  prompt["prompt"] = "1 0";
  if (client.post("/api/v1/workspaces/bench/turns", prompt).status != 202)
    throw std::runtime_error("the server does not take turns:\n" + server.output());
  prompt["prompt"] = fmt::format("{} {}", count, gap_ms);
  const auto accepted = client.post("/api/v1/workspaces/bench/turns", prompt).parsed();
  const auto after = int_or(accepted, "offset", 0);

  reader_state state;
  auto* curl = ::curl_easy_init();
  const auto url = fmt::format("{}/api/v1/workspaces/bench/events?after={}&turn={}", server.url(),
                               after, string_or(accepted, "turn"));
  auto* headers = ::curl_slist_append(nullptr, "Accept: text/event-stream");
  headers = ::curl_slist_append(headers, ("Authorization: Bearer " + server.token()).c_str());
  ::curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  ::curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  ::curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &on_bytes);
  ::curl_easy_setopt(curl, CURLOPT_WRITEDATA, &state);
  ::curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
  ::curl_easy_perform(curl);
  ::curl_slist_free_all(headers);
  ::curl_easy_cleanup(curl);
  if (!state.finished)
    throw std::runtime_error("the turn did not end in time; the server said:\n" + server.output());
  return state.seen;
}

void report(std::string_view name, bench::latencies& l, double floor_p50) {
  fmt::print(
    R"({{"bench":"latency","case":"{}","events":{},"p50_us":{:.0f},"p99_us":{:.0f},"ratio_p50":{:.2f}}})"
    "\n",
    name, l.count(), l.percentile(0.5), l.percentile(0.99),
    floor_p50 > 0 ? l.percentile(0.5) / floor_p50 : 0);
}

} // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 500;
  const int gap_ms = argc > 2 ? std::atoi(argv[2]) : 4;
  try {
    const test::temp_dir directory;
    auto floor = measure_floor(count, gap_ms, directory.path());
    auto server = measure_server(count, gap_ms);
    const auto floor_p50 = floor.percentile(0.5);
    report("floor", floor, floor_p50);
    report("tidemark", server, floor_p50);
    fmt::print("\n{:<34}{:>10}{:>10}{:>10}\n", "agent line to reader", "p50 µs", "p99 µs", "ratio");
    fmt::print("{:<34}{:>10.0f}{:>10.0f}{:>10}\n", "pipe + fdatasync + socket",
               floor.percentile(0.5), floor.percentile(0.99), 1);
    fmt::print("{:<34}{:>10.0f}{:>10.0f}{:>10.2f}\n", "tidemark, SSE over HTTP",
               server.percentile(0.5), server.percentile(0.99), server.percentile(0.5) / floor_p50);
  } catch (const std::exception& failure) {
    std::cerr << "latency_bench: " << failure.what() << "\n";
    return 1;
  }
}
