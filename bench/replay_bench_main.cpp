// What replay costs: events from the log (cold and warm) and from the hot tail, as SSE frames through
// a socket, against the same bytes copied through the same kind of socket in the same run. First by a
// subscription alone through a local socket, then by the real HTTP server to a client over TCP.
//
// usage: replay_bench [--events N] [--bytes B] [--directory D]

#include "base/logging.hpp"
#include "bench/bench_server.hpp"
#include "bench/sockets.hpp"
#include "replay/hub.hpp"
#include "replay/sse_frame.hpp"
#include "replay/subscription.hpp"
#include "storage/rocks_log.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace tidemark;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t piece_bytes = 64 << 10;
constexpr std::size_t log_piece_bytes = 256 << 10;

struct settings {
  std::size_t events = 1'000'000;
  std::size_t bytes = 200;
  std::filesystem::path directory = std::filesystem::temp_directory_path();
};

settings parse(int argc, char** argv) {
  settings given;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--events"))
      given.events = std::strtoul(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--bytes"))
      given.bytes = std::strtoul(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--directory"))
      given.directory = argv[i + 1];
  }
  return given;
}

struct measured {
  std::string name;
  drained_socket::kind over = drained_socket::kind::local;
  std::size_t events = 0;
  std::size_t bytes = 0;
  double seconds = 0;
  double cpu_seconds = 0; ///< of this process, the reader included

  [[nodiscard]] double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

template <class Work>
measured time_it(std::string name, drained_socket::kind over, Work work) {
  measured m{std::move(name), over};
  const auto cpu_before = cpu_seconds();
  const auto started = clock_type::now();
  work(m);
  m.seconds = std::chrono::duration<double>(clock_type::now() - started).count();
  m.cpu_seconds = cpu_seconds() - cpu_before;
  return m;
}

/// Reads like a server: frames of what the subscription hands out, in pieces, through the socket.
void replay(const event_log& log, hub& events, measured& m) {
  drained_socket to{drained_socket::kind::local};
  subscription reader{log, events, log.find("bench").value(), offset{}, [] {}};
  std::vector<hot_event_ptr> next;
  std::string piece;
  const auto encode = [&](const event_view& e) {
    append_sse(piece, e, false);
    ++m.events;
    return piece.size() < log_piece_bytes;
  };
  for (;;) {
    piece.clear();
    const auto state = reader.poll(piece_bytes, next);
    if (state == subscription::state::behind) {
      if (auto read = reader.read_log({10'000, log_piece_bytes}, encode); !read)
        throw std::runtime_error(read.error().describe());
    }
    for (const auto& e : next)
      piece += e->frame();
    m.events += next.size();
    if (piece.empty())
      break;
    m.bytes += piece.size();
    to.write(piece);
  }
  to.finish();
}

/// The same by the real server, over HTTP.
void replay_over_http(const bench_server& server, std::size_t events, measured& m) {
  const auto got = read_frames(server.port(), "/api/v1/workspaces/bench/events", events + 1);
  m.events = got.frames - 1; // without `hello`
  m.bytes = got.bytes;
}

void copy(std::size_t bytes, measured& m) {
  drained_socket to{m.over};
  const std::string piece(piece_bytes, 'x');
  for (; m.bytes < bytes; m.bytes += piece.size())
    to.write(piece);
  to.finish();
}

void fill(event_log& log, const settings& given) {
  constexpr std::size_t batch = 500;
  const auto stream = log.acquire("bench").value();
  const auto data = fmt::format(R"({{"text":"{}"}})", std::string(given.bytes, 'x'));
  for (std::size_t done = 0; done < given.events;) {
    append_request request;
    request.stream = stream.id;
    request.incarnation = stream.incarnation;
    request.expected = offset{done};
    for (std::size_t i = 0; i < batch && done < given.events; ++i, ++done)
      request.events.push_back(new_event{"item.delta", "turn", timestamp{1}, data});
    if (!log.commit({&request, 1}).front())
      throw std::runtime_error("the log refused an append");
  }
}

void drop_from_page_cache(const std::filesystem::path& directory) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const int file = entry.is_regular_file() ? ::open(entry.path().c_str(), O_RDONLY) : -1;
    if (file < 0)
      continue;
    ::fsync(file);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
  }
}

std::unique_ptr<event_log> open(const std::filesystem::path& directory) {
  rocks_log_options options;
  options.directory = directory;
  options.when_done = durability::os;
  auto log = open_rocks_log(std::move(options));
  if (!log)
    throw std::runtime_error(log.error().describe());
  return std::move(*log);
}

void hot_fill(const event_log& log, hub& events) {
  std::vector<event_ptr> all;
  read_limits everything;
  everything.max_events = static_cast<std::size_t>(-1);
  everything.max_bytes = static_cast<std::size_t>(-1);
  const auto info = log.find("bench").value();
  const auto keep = [&](const event_view& e) {
    all.push_back(std::make_shared<const event>(
      event{std::string{e.workspace}, e.stream, e.incarnation, e.at, e.global, e.time,
            std::string{e.type}, std::string{e.turn}, std::string{e.data}, nullptr, *e.hash}));
    return true;
  };
  if (!log.read(info.id, offset{1}, everything, keep))
    throw std::runtime_error("the log cannot be read");
  events.publish(all);
}

/// Closes the log and opens it again without anything of it in memory.
void reopen_cold(std::unique_ptr<event_log>& log, const std::filesystem::path& directory) {
  log.reset();
  drop_from_page_cache(directory);
  log = open(directory);
}

std::vector<measured> measure(const settings& given, const std::filesystem::path& directory) {
  using enum drained_socket::kind;
  std::vector<measured> results;
  const auto take = [&](std::string name, drained_socket::kind over, auto work) {
    results.push_back(time_it(std::move(name), over, std::move(work)));
  };
  auto log = open(directory);
  fill(*log, given);
  hub nothing_hot;
  reopen_cold(log, directory);
  for (const auto* name : {"log, cold", "log, warm"})
    take(name, local, [&](auto& m) { replay(*log, nothing_hot, m); });
  reopen_cold(log, directory);
  {
    const bench_server server{*log, nothing_hot};
    for (const auto* name : {"http, cold", "http, warm"})
      take(name, tcp, [&](auto& m) { replay_over_http(server, given.events, m); });
  }
  hub hot{hub::limits{std::size_t{4} << 30, std::size_t{4} << 30}};
  hot_fill(*log, hot);
  for (const auto* name : {"hot, 1st reader", "hot tail"}) // the first one encodes
    take(name, local, [&](auto& m) { replay(*log, hot, m); });
  const auto bytes = results.back().bytes;
  {
    const bench_server server{*log, hot};
    take("http, hot", tcp, [&](auto& m) { replay_over_http(server, given.events, m); });
  }
  take("raw copy", local, [&](auto& m) { copy(bytes, m); });
  take("raw, tcp", tcp, [&](auto& m) { copy(bytes, m); });
  return results;
}

void report(const std::vector<measured>& results) {
  const auto of_raw = [&](const measured& m) {
    const auto raw = std::find_if(results.rbegin(), results.rend(),
                                  [&](const measured& r) { return r.over == m.over; });
    return m.bytes_per_second() / raw->bytes_per_second();
  };
  std::string table;
  for (const auto& m : results) {
    const auto events = static_cast<double>(m.events);
    const auto cpu = m.events == 0 ? 0 : m.cpu_seconds / events * 1e6;
    fmt::print("{{\"bench\":\"replay\",\"case\":\"{}\",\"events\":{},\"events_per_s\":{:.0f},"
               "\"mb_per_s\":{:.1f},\"cpu_us_per_event\":{:.3f},\"of_raw\":{:.3f}}}\n",
               m.name, m.events, events / m.seconds, m.bytes_per_second() / 1e6, cpu, of_raw(m));
    table += fmt::format("{:<16}{:>14.0f}{:>12.1f}{:>14.3f}{:>9.0f}%\n", m.name, events / m.seconds,
                         m.bytes_per_second() / 1e6, cpu, 100 * of_raw(m));
  }
  fmt::print("\n{:<16}{:>14}{:>12}{:>14}{:>10}\n{}", "replay", "events/s", "MB/s", "cpu us/event",
             "of raw", table);
}

void run(const settings& given) {
  const auto directory = given.directory / fmt::format("tidemark-replay-bench-{}", ::getpid());
  const auto results = measure(given, directory);
  std::filesystem::remove_all(directory);
  report(results);
}

} // namespace

int main(int argc, char** argv) {
  logging::set_level(logging::level::warning);
  try {
    run(parse(argc, argv));
  } catch (const std::exception& failure) {
    std::cerr << "replay_bench: " << failure.what() << "\n";
    return 1;
  }
}
