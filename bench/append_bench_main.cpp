// What a durable append costs: the log against the same bytes written and synced raw.
//
// usage: append_bench [--seconds S] [--bytes B] [--directory D] [--durability sync|os]
//                     [--streams N --depth D]    only this case
//
// Closed loop: each of N streams has D appends of one event under way, and those that wait are
// committed together, which is what the log writer does under load. The raw limit writes the same
// bytes in the same batches to one file, one fdatasync a batch. Both run in turns of a tenth of a second, so
// that a busy neighbour hits both alike. A latency is that of one commit: every append in it waits
// for all of it.

#include "base/logging.hpp"
#include "bench/append_settings.hpp"
#include "bench/latencies.hpp"
#include "bench/raw_log.hpp"
#include "storage/rocks_log.hpp"

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
using bench::clock;

/// The appends of a load: a stream's follow each other, as those of a client that pipelines do.
class appenders {
public:
  appenders(event_log& log, bench::append_load what, const std::string& data)
    : log_(log),
      depth_(what.depth) {
    for (std::size_t i = 0; i < what.streams; ++i) {
      const auto info =
        log.acquire(fmt::format("bench-{}-{}-{}", what.streams, what.depth, i)).value();
      for (std::size_t d = 0; d < depth_; ++d)
        requests_.push_back({info.id,
                             info.incarnation,
                             info.head.plus(d),
                             {{"item.delta", "", now_utc(), data}},
                             {},
                             false});
    }
  }
  void commit() {
    const auto answers = log_.commit(requests_);
    for (std::size_t i = 0; i < answers.size(); ++i)
      requests_[i].expected = answers[i].value().last.plus(depth_ - 1);
  }

private:
  event_log& log_;
  std::size_t depth_;
  std::vector<append_request> requests_;
};

void measure(event_log& log, const bench::append_settings& given, bench::append_load what) {
  appenders appends{log, what, given.event_data()};
  bench::raw_log raw{given.directory / "raw"};
  const std::string batch(what.in_flight() * given.bytes, 'x');
  bench::latencies logged;
  bench::latencies limit;
  constexpr auto turn = std::chrono::milliseconds{100};
  const auto end = clock::now() + std::chrono::duration<double>{2 * given.seconds};
  while (clock::now() < end) {
    limit.repeat_for(turn, [&] { raw.append(batch); });
    logged.repeat_for(turn, [&] { appends.commit(); });
  }
  const auto rate = static_cast<double>(logged.count() * what.in_flight()) / logged.seconds();
  const auto raw_rate = static_cast<double>(limit.count() * what.in_flight()) / limit.seconds();
  std::cout << fmt::format(
    R"({{"bench":"append","streams":{},"depth":{},"bytes":{},"events_per_second":{:.0f},)"
    R"("p50_us":{:.0f},"p99_us":{:.0f},"raw_events_per_second":{:.0f},"raw_p50_us":{:.0f},)"
    R"("raw_p99_us":{:.0f},"of_raw":{:.3f}}})"
    "\n",
    what.streams, what.depth, given.bytes, rate, logged.percentile(0.5), logged.percentile(0.99),
    raw_rate, limit.percentile(0.5), limit.percentile(0.99), rate / raw_rate);
  std::cerr << fmt::format(
    "{:>8} {:>6} {:>12.0f} {:>9.0f} {:>9.0f} {:>12.0f} {:>9.0f} {:>9.0f} {:>7.0f} %\n",
    what.streams, what.depth, rate, logged.percentile(0.5), logged.percentile(0.99), raw_rate,
    limit.percentile(0.5), limit.percentile(0.99), 100 * rate / raw_rate);
}

} // namespace

int main(int argc, char** argv) {
  logging::set_level(logging::level::warning);
  auto given =
    bench::parse_append_settings(argc, argv, {{1, 1}, {16, 1}, {128, 1}, {256, 1}, {256, 16}});
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
    std::cerr << fmt::format("{:>8} {:>6} {:>12} {:>9} {:>9} {:>12} {:>9} {:>9} {:>9}\n", "streams",
                             "depth", "events/s", "p50 us", "p99 us", "raw/s", "p50 us", "p99 us",
                             "of raw");
    for (const auto& each : given.loads)
      measure(**log, given, each);
  }
  std::filesystem::remove_all(given.directory);
}
