// What replay costs: events from the log (cold and warm) and from the hot tail, as SSE frames through
// a socket, against the same bytes copied through the same kind of socket in the same run.
//
// usage: replay_bench [--events N] [--bytes B] [--directory D]

#include "base/logging.hpp"
#include "replay/hub.hpp"
#include "replay/subscription.hpp"
#include "storage/rocks_log.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace tidemark;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t piece_bytes = 64 << 10;

struct settings {
  std::size_t events = 200'000;
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

/// A connected pair of sockets whose far end is read by a thread that throws everything away.
class drained_socket {
public:
  drained_socket() {
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) != 0)
      throw std::runtime_error("socketpair failed");
    reader_ = std::thread{[this] {
      std::vector<char> buffer(piece_bytes);
      while (::read(ends_[1], buffer.data(), buffer.size()) > 0) {}
    }};
  }
  ~drained_socket() {
    finish();
    ::close(ends_[1]);
  }
  drained_socket(const drained_socket&) = delete;
  drained_socket& operator=(const drained_socket&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ::write(ends_[0], bytes.data(), bytes.size());
      if (n <= 0)
        throw std::runtime_error("the reader is gone");
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  /// Returns once the far end has read everything.
  void finish() {
    if (!reader_.joinable())
      return;
    ::close(ends_[0]);
    reader_.join();
  }

private:
  int ends_[2]{};
  std::thread reader_;
};

struct measured {
  std::string name;
  std::size_t events = 0;
  std::size_t bytes = 0;
  double seconds = 0;
};

template <class Work>
measured time_it(std::string name, Work work) {
  measured m{std::move(name)};
  drained_socket to;
  const auto started = clock_type::now();
  work(to, m);
  to.finish();
  m.seconds = std::chrono::duration<double>(clock_type::now() - started).count();
  return m;
}

/// Reads like a server: frames of what the subscription hands out, in pieces, through the socket.
void replay(const event_log& log, hub& events, drained_socket& to, measured& m) {
  subscription reader{log, events, log.find("bench").value(), offset{}, [] {}};
  std::vector<hot_event_ptr> next;
  std::string piece;
  for (;;) {
    auto state = reader.poll(piece_bytes, next);
    if (state == subscription::state::behind) {
      if (auto read = reader.read_log(piece_bytes, next); !read)
        throw std::runtime_error(read.error().describe());
      if (next.empty())
        return;
      state = subscription::state::ready;
    }
    if (state != subscription::state::ready)
      return;
    piece.clear();
    for (const auto& e : next)
      piece += e->frame;
    m.events += next.size();
    m.bytes += piece.size();
    to.write(piece);
  }
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

void run(const settings& given) {
  const auto directory = given.directory / fmt::format("tidemark-replay-bench-{}", ::getpid());
  std::vector<measured> results;
  auto log = open(directory);
  fill(*log, given);
  log.reset();
  drop_from_page_cache(directory);
  log = open(directory);
  hub nothing_hot;
  results.push_back(
    time_it("log, cold", [&](auto& to, auto& m) { replay(*log, nothing_hot, to, m); }));
  results.push_back(
    time_it("log, warm", [&](auto& to, auto& m) { replay(*log, nothing_hot, to, m); }));
  hub hot{hub::limits{std::size_t{4} << 30, std::size_t{4} << 30}};
  hot_fill(*log, hot);
  results.push_back(time_it("hot tail", [&](auto& to, auto& m) { replay(*log, hot, to, m); }));
  const auto total = results.back().bytes;
  results.push_back(time_it("raw copy", [&](auto& to, auto& m) {
    const std::string piece(piece_bytes, 'x');
    for (; m.bytes < total; m.bytes += piece.size())
      to.write(piece);
  }));
  log.reset();
  std::filesystem::remove_all(directory);

  const auto& raw = results.back();
  const auto raw_rate = static_cast<double>(raw.bytes) / raw.seconds;
  for (const auto& m : results)
    fmt::print(
      R"({{"bench":"replay","case":"{}","events":{},"events_per_s":{:.0f},"mb_per_s":{:.1f},"of_raw":{:.3f}}})"
      "\n",
      m.name, m.events, static_cast<double>(m.events) / m.seconds,
      static_cast<double>(m.bytes) / m.seconds / 1e6,
      static_cast<double>(m.bytes) / m.seconds / raw_rate);
  fmt::print("\n{:<12}{:>14}{:>12}{:>10}\n", "replay", "events/s", "MB/s", "of raw");
  for (const auto& m : results)
    fmt::print("{:<12}{:>14.0f}{:>12.1f}{:>9.0f}%\n", m.name,
               static_cast<double>(m.events) / m.seconds,
               static_cast<double>(m.bytes) / m.seconds / 1e6,
               100 * static_cast<double>(m.bytes) / m.seconds / raw_rate);
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
