// What a durable append costs: the log against the same bytes written and synced raw.
//
// usage: append_bench [--seconds S] [--bytes B] [--directory D] [--durability sync|os]
//
// Closed loop: each of N streams has one append under way, and those that wait are committed
// together, which is what the log writer does under load. The raw limit writes the same bytes in
// the same batches to one file, one fdatasync a batch. Both run in turns of a tenth of a second, so
// that a busy neighbour hits both alike. A latency is that of one commit: every append in it waits
// for all of it.

#include "base/logging.hpp"
#include "bench/raw_log.hpp"
#include "storage/rocks_log.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace tidemark;
using clock_type = std::chrono::steady_clock;
using microseconds = std::chrono::duration<double, std::micro>;

struct settings {
  double seconds = 3; ///< for each measured thing
  std::size_t bytes = 512;
  std::filesystem::path directory = std::filesystem::temp_directory_path();
  durability when_done = durability::sync;
};

settings parse(int argc, char** argv) {
  settings given;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--seconds"))
      given.seconds = std::strtod(argv[i + 1], nullptr);
    else if (!std::strcmp(argv[i], "--bytes"))
      given.bytes = std::strtoul(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--directory"))
      given.directory = argv[i + 1];
    else if (!std::strcmp(argv[i], "--durability") && !std::strcmp(argv[i + 1], "os"))
      given.when_done = durability::os;
  }
  return given;
}

/// Commits of one kind: how long each took.
class series {
public:
  template <class Commit>
  void run_for(clock_type::duration turn, Commit commit) {
    const auto end = clock_type::now() + turn;
    for (auto started = clock_type::now(); started < end;) {
      commit();
      const auto now = clock_type::now();
      latencies_.push_back(microseconds{now - started}.count());
      started = now;
    }
  }
  [[nodiscard]] double per_second(std::size_t appends_each) const {
    double sum = 0;
    for (const auto latency : latencies_)
      sum += latency;
    return static_cast<double>(appends_each * latencies_.size()) / sum * 1e6;
  }
  [[nodiscard]] double percentile(double part) {
    std::sort(latencies_.begin(), latencies_.end());
    return latencies_[static_cast<std::size_t>(part * static_cast<double>(latencies_.size() - 1))];
  }

private:
  std::vector<double> latencies_;
};

/// N streams with one append under way each.
class appenders {
public:
  appenders(event_log& log, std::size_t streams, std::size_t bytes) : log_(log) {
    const auto data =
      fmt::format("{{\"text\":\"{}\"}}", std::string(bytes > 11 ? bytes - 11 : 0, 'x'));
    for (std::size_t i = 0; i < streams; ++i) {
      const auto info = log.acquire(fmt::format("bench-{}-{}", streams, i)).value();
      requests_.push_back(
        {info.id, info.incarnation, info.head, {{"item.delta", "", now_utc(), data}}, {}, false});
    }
  }
  void commit() {
    const auto answers = log_.commit(requests_);
    for (std::size_t i = 0; i < answers.size(); ++i)
      requests_[i].expected = answers[i].value().last;
  }

private:
  event_log& log_;
  std::vector<append_request> requests_;
};

void measure(event_log& log, const settings& given, std::size_t streams) {
  appenders load{log, streams, given.bytes};
  bench::raw_log raw{given.directory / "raw"};
  const std::string batch(streams * given.bytes, 'x');
  series logged;
  series limit;
  constexpr auto turn = std::chrono::milliseconds{100};
  const auto end = clock_type::now() + std::chrono::duration<double>{2 * given.seconds};
  while (clock_type::now() < end) {
    limit.run_for(turn, [&] { raw.append(batch); });
    logged.run_for(turn, [&] { load.commit(); });
  }
  const auto rate = logged.per_second(streams);
  const auto raw_rate = limit.per_second(streams);
  std::cout << fmt::format("{{\"bench\":\"append\",\"streams\":{},\"bytes\":{},\"events_per_"
                           "second\":{:.0f},\"p50_us\":{:.0f},"
                           "\"p99_us\":{:.0f},\"raw_events_per_second\":{:.0f},\"raw_p50_us\":{:."
                           "0f},\"raw_p99_us\":{:.0f},"
                           "\"of_raw\":{:.3f}}}\n",
                           streams, given.bytes, rate, logged.percentile(0.5),
                           logged.percentile(0.99), raw_rate, limit.percentile(0.5),
                           limit.percentile(0.99), rate / raw_rate);
  std::cerr << fmt::format(
    "{:>8} {:>12.0f} {:>9.0f} {:>9.0f} {:>12.0f} {:>9.0f} {:>9.0f} {:>7.0f} %\n", streams, rate,
    logged.percentile(0.5), logged.percentile(0.99), raw_rate, limit.percentile(0.5),
    limit.percentile(0.99), 100 * rate / raw_rate);
}

} // namespace

int main(int argc, char** argv) {
  logging::set_level(logging::level::warning);
  auto given = parse(argc, argv);
  auto pattern = (given.directory / "tidemark-bench-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) {
    std::cerr << "cannot create a directory in " << given.directory << '\n';
    return 1;
  }
  given.directory = pattern;
  {
    rocks_log_options options;
    options.directory = given.directory / "log";
    options.when_done = given.when_done;
    const auto log = open_rocks_log(options);
    if (!log) {
      std::cerr << log.error().describe() << '\n';
      return 1;
    }
    std::cerr << fmt::format("{:>8} {:>12} {:>9} {:>9} {:>12} {:>9} {:>9} {:>9}\n", "streams",
                             "events/s", "p50 us", "p99 us", "raw/s", "p50 us", "p99 us", "of raw");
    for (const std::size_t streams : {1, 16, 256})
      measure(**log, given, streams);
  }
  std::filesystem::remove_all(given.directory);
}
