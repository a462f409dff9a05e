// What a durable append costs a workspace: through the log writer actor, which commits what waits
// together, publishes it to the readers' tail and answers each, against the same bytes written and
// synced raw in batches of all that is in flight.
//
// usage: writer_bench [--seconds S] [--bytes B] [--directory D] [--durability sync|os]
//                     [--streams N --depth D]    only this load
//
// Closed loop: each of N streams has up to D appends of one event under way. A latency is that of
// one append, from its message to its answer. Both sides run in turns, so that a busy neighbour hits
// both alike.

#include "actors/log_writer.hpp"
#include "base/logging.hpp"
#include "bench/append_settings.hpp"
#include "bench/latencies.hpp"
#include "bench/raw_log.hpp"
#include "storage/rocks_log.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace tidemark;
using bench::clock;

using go_atom = caf::atom_constant<caf::atom("go")>;

/// What one workspace does for the bench: it appends as fast as answers come until the turn is
/// over, then waits for what is under way.
struct workspace_state {
  caf::event_based_actor* self = nullptr;
  log_writer_actor writer;
  stream_info stream; ///< `head` counts what was asked for
  std::string data;
  bench::latencies* answered = nullptr; ///< its own, so that no two threads share one
  clock::time_point end;
  std::size_t under_way = 0;
  caf::response_promise finished;

  void append() {
    auto request = std::make_shared<append_request>();
    request->stream = stream.id;
    request->incarnation = stream.incarnation;
    request->expected = stream.head;
    request->events.push_back({"item.delta", "", now_utc(), data});
    stream.head = stream.head.next();
    ++under_way;
    const auto asked = clock::now();
    self->request(writer, caf::infinite, append_atom::value, append_ptr{std::move(request)})
      .then([this, asked](const append_reply_ptr& reply) {
        if (!reply->result)
          std::abort();
        const auto now = clock::now();
        answered->add(now - asked);
        --under_way;
        if (now < end)
          append();
        else if (under_way == 0)
          finished.deliver(true);
      });
  }
};

caf::behavior workspace(caf::stateful_actor<workspace_state>* self, log_writer_actor writer,
                        stream_info stream, std::string data, bench::latencies* answered) {
  self->state.self = self;
  self->state.writer = std::move(writer);
  self->state.stream = std::move(stream);
  self->state.data = std::move(data);
  self->state.answered = answered;
  return {[self](go_atom, std::int64_t milliseconds, std::size_t depth) -> caf::result<bool> {
    self->state.finished = self->make_response_promise();
    self->state.end = clock::now() + std::chrono::milliseconds{milliseconds};
    for (std::size_t i = 0; i < depth; ++i)
      self->state.append();
    return self->state.finished;
  }};
}

/// N streams with up to D appends under way each.
class load {
public:
  load(caf::actor_system& system, const log_writer_actor& writer, event_log& log,
       bench::append_load what, const std::string& data)
    : self_(system),
      what_(what),
      answered_(what.streams) {
    for (std::size_t i = 0; i < what.streams; ++i)
      workspaces_.push_back(self_->spawn(
        workspace, writer,
        log.acquire(fmt::format("bench-{}-{}-{}", what.streams, what.depth, i)).value(), data,
        &answered_[i]));
  }
  load(const load&) = delete;
  load& operator=(const load&) = delete;
  ~load() {
    for (const auto& each : workspaces_)
      self_->send_exit(each, caf::exit_reason::user_shutdown);
  }

  void run_for(std::chrono::milliseconds turn) {
    const auto started = clock::now();
    const auto cpu_before = std::clock();
    for (const auto& each : workspaces_)
      self_->send(each, go_atom::value, std::int64_t{turn.count()}, what_.depth);
    std::size_t finished = 0;
    self_->receive_for(finished, workspaces_.size())([](bool) {});
    seconds_ += std::chrono::duration<double>(clock::now() - started).count();
    cpu_seconds_ += static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC;
  }

  [[nodiscard]] bench::append_load what() const { return what_; }
  [[nodiscard]] double seconds() const { return seconds_; }
  /// Of all threads: that of the workspaces is part of it.
  [[nodiscard]] double cpu_seconds() const { return cpu_seconds_; }
  [[nodiscard]] bench::latencies answered() const {
    bench::latencies all;
    for (const auto& each : answered_)
      all.add(each);
    return all;
  }

private:
  caf::scoped_actor self_;
  bench::append_load what_;
  std::vector<bench::latencies> answered_;
  std::vector<caf::actor> workspaces_;
  double seconds_ = 0;
  double cpu_seconds_ = 0;
};

void report(const load& what, bench::latencies& raw, const bench::append_settings& given) {
  auto answered = what.answered();
  const auto rate = static_cast<double>(answered.count()) / what.seconds();
  const auto raw_rate = static_cast<double>(raw.count() * what.what().in_flight()) / raw.seconds();
  const auto cpu = 1e6 * what.cpu_seconds() / static_cast<double>(answered.count());
  std::cout << fmt::format(
    R"({{"bench":"writer","streams":{},"depth":{},"bytes":{},"events_per_second":{:.0f},)"
    R"("p50_us":{:.0f},"p99_us":{:.0f},"cpu_us":{:.2f},"raw_events_per_second":{:.0f},"of_raw":{:.3f}}})"
    "\n",
    what.what().streams, what.what().depth, given.bytes, rate, answered.percentile(0.5),
    answered.percentile(0.99), cpu, raw_rate, rate / raw_rate);
  std::cerr << fmt::format(
    "{:>8} {:>6} {:>12.0f} {:>9.0f} {:>9.0f} {:>9.2f} {:>12.0f} {:>7.0f} %\n", what.what().streams,
    what.what().depth, rate, answered.percentile(0.5), answered.percentile(0.99), cpu, raw_rate,
    100 * rate / raw_rate);
}

void measure(load& what, const bench::append_settings& given) {
  bench::raw_log raw{given.directory / "raw"};
  const std::string batch(what.what().in_flight() * given.bytes, 'x');
  bench::latencies limit;
  constexpr auto turn = std::chrono::milliseconds{200};
  const auto end = clock::now() + std::chrono::duration<double>{2 * given.seconds};
  while (clock::now() < end) {
    limit.repeat_for(turn, [&] { raw.append(batch); });
    what.run_for(turn);
  }
  report(what, limit, given);
}

int run(const bench::append_settings& given) {
  rocks_log_options options;
  options.directory = given.directory / "log";
  options.when_done = given.when_done;
  const auto log = open_rocks_log(options);
  if (!log) {
    std::cerr << log.error().describe() << '\n';
    return 1;
  }
  hub readers;
  instruments metrics{"bench"};
  caf::actor_system_config config;
  config.set("scheduler.policy", caf::atom("sharing"));
  caf::actor_system system{config};
  const auto writer = spawn_log_writer(system, {**log, readers, metrics});
  std::cerr << fmt::format("{:>8} {:>6} {:>12} {:>9} {:>9} {:>9} {:>12} {:>9}\n", "streams",
                           "depth", "events/s", "p50 us", "p99 us", "cpu us", "raw/s", "of raw");
  for (const auto& each : given.loads) {
    load what{system, writer, **log, each, given.event_data()};
    measure(what, given);
  }
  caf::scoped_actor self{system};
  self->request(writer, caf::infinite, stop_atom::value)
    .receive([](bool) {}, [](const caf::error&) {});
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  logging::set_level(logging::level::warning);
  auto given = bench::parse_append_settings(argc, argv, {{1, 1}, {128, 1}, {256, 16}});
  auto pattern = (given.directory / "tidemark-bench-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) {
    std::cerr << "cannot create a directory in " << given.directory << '\n';
    return 1;
  }
  given.directory = pattern;
  const auto outcome = run(given);
  std::filesystem::remove_all(given.directory);
  return outcome;
}
