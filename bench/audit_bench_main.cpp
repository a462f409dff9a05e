// What a question to the audit feed costs: a selective one over a large log against a look at all of it, and what
// that look costs those who write meanwhile.
//
// usage: audit_bench [--events N] [--directory D] [--seconds S of writing beside a look]
//
// The log is like a server's: turns of 20 events in 200 workspaces, 14 of them pieces of text, one tool call each,
// one turn in 10,000 failed. A question is asked anew each time, its first page taken (1,000 events at most).
#include "base/json.hpp"
#include "base/logging.hpp"
#include "base/thread_priority.hpp"
#include "base/work_pace.hpp"
#include "bench/latencies.hpp"
#include "replay/audit_query.hpp"
#include "replay/audit_terms.hpp"
#include "storage/rocks_log.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace tidemark;
using bench::clock;

constexpr std::size_t workspaces = 200;
constexpr std::size_t events_a_turn = 20;
constexpr std::size_t turns_a_commit = 25;
constexpr std::size_t page = 1000;

struct settings {
  std::uint64_t events = 1'000'000;
  std::filesystem::path directory = std::filesystem::temp_directory_path();
  double seconds = 27;
};

/// Writes turn after turn into all workspaces in rotation.
class writer {
public:
  writer(event_log& log, bool with_terms) : log_(log), with_terms_(with_terms) {
    for (std::size_t i = 0; i < workspaces; ++i)
      streams_.push_back(log.acquire(fmt::format("workspace-{:03}", i)).value());
  }

  void commit() {
    std::vector<append_request> requests;
    for (std::size_t i = 0; i < turns_a_commit; ++i)
      requests.push_back(turn_of(streams_[(next_ + i) % workspaces]));
    const auto answers = log_.commit(requests);
    for (std::size_t i = 0; i < turns_a_commit; ++i)
      streams_[(next_ + i) % workspaces].head = answers[i].value().last;
    next_ += turns_a_commit;
  }

private:
  append_request turn_of(const stream_info& stream) {
    append_request request{stream.id, stream.incarnation, stream.head, {}, {}, false};
    const auto turn = fmt::format("{:08x}-0000-7000-8000-{:012x}", ++turns_, stream.id.value);
    const auto add = [&](const char* type, json data) {
      new_event e{type, turn, now_utc(), dump_json(data)};
      if (with_terms_)
        e.terms = audit_terms(stream.name, type, turn, data);
      request.events.push_back(std::move(e));
    };
    const auto object = [](const char* name, json value) {
      auto out = json::object();
      out[name] = std::move(value);
      return out;
    };
    auto call = object("kind", "tool_call");
    call["name"] = turns_ % 5000 == 0 ? "Rare" : "Bash";
    add("turn.queued", object("prompt", "explain the build"));
    add("turn.started", object("attempt", 1));
    add("item.started", object("item", call));
    for (std::size_t i = request.events.size() + 3; i < events_a_turn; ++i)
      add("item.delta", object("text", fmt::format("{:x} {:x}", turns_ * 2654435761U, i)));
    add("item.completed", object("item", call));
    add("turn.completed", object("outcome", turns_ % 10'000 == 0 ? "failed" : "succeeded"));
    add("result.delivered", object("via", "stream"));
    return request;
  }

  event_log& log_;
  bool with_terms_;
  std::vector<stream_info> streams_;
  std::size_t next_ = 0;
  std::uint64_t turns_ = 0;
};

double events_per_second(event_log& log, bool with_terms, double seconds) {
  writer writes{log, with_terms};
  bench::latencies commits;
  commits.repeat_for(
    std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{seconds}),
    [&] { writes.commit(); });
  return static_cast<double>(commits.count() * turns_a_commit * events_a_turn) / commits.seconds();
}

std::size_t first_page(const event_log& log, const audit_filter& what, direction way) {
  audit_query query{log, what, way};
  auto from = query.start().value();
  std::size_t found = 0;
  for (bool over = false; !over && found < page;) {
    const auto read =
      query.read(from, {20'000, 8 << 20, false}, [&](const event_view&) { return ++found < page; });
    from = read.value().next;
    over = read->reached_end;
  }
  return found;
}

void ask(const event_log& log, const char* name, const audit_filter& what,
         direction way = direction::oldest_first) {
  const auto began = clock::now();
  const auto found = first_page(log, what, way);
  const std::chrono::duration<double, std::milli> first = clock::now() - began;
  bench::latencies again;
  for (int i = 0; i < 20; ++i) {
    const auto started = clock::now();
    first_page(log, what, way);
    again.add(clock::now() - started);
  }
  std::cout << fmt::format(
    R"({{"bench":"audit","question":"{}","found":{},"first_ms":{:.2f},"p50_ms":{:.2f},"p95_ms":{:.2f}}})"
    "\n",
    name, found, first.count(), again.percentile(0.5) / 1000, again.percentile(0.95) / 1000);
  std::cerr << fmt::format("{:<44} {:>6} {:>10.2f} {:>10.2f} {:>10.2f}\n", name, found,
                           first.count(), again.percentile(0.5) / 1000,
                           again.percentile(0.95) / 1000);
}

/// How the one who looks does so.
enum class manner { as_fast_as_it_goes, as_the_server };

/// Looks at every event until told to stop, or once; how many a second.
double look_at_all(const event_log& log, manner how, const std::atomic<bool>* stop) {
  audit_filter what;
  what.text = "stands nowhere";
  // As http/audit_api.cpp and http/background_pool.cpp.
  const std::size_t stretch = how == manner::as_the_server ? 4'000 : 20'000;
  const auto began = clock::now();
  work_pace pace{began, log.time_committing()};
  std::size_t looked_at = 0;
  do {
    audit_query query{log, what, direction::oldest_first};
    auto from = query.start().value();
    for (bool over = false; !over && !(stop && *stop);) {
      const auto started = clock::now();
      const auto read =
        query.read(from, {stretch, 8 << 20, false}, [](const event_view&) { return true; });
      if (how == manner::as_the_server)
        std::this_thread::sleep_for(pace.rest_after(started, clock::now(), log.time_committing()));
      from = read.value().next;
      looked_at += read->looked_at;
      over = read->reached_end;
    }
  } while (stop && !*stop);
  return static_cast<double>(looked_at)
         / std::chrono::duration<double>{clock::now() - began}.count();
}

struct company {
  double alone;  ///< events a second that are written alone
  double beside; ///< the part of that beside one who looks at everything
  double noise;  ///< the same quotient where nobody looks: what cannot be told from nothing
  double looked_at_beside; ///< events a second that are looked at meanwhile
};

/// Writers that use all they get, alone and beside one who looks at everything as the server does that. In
/// turns, so that what else the machine does hits all alike; medians, because that is rarely for long.
company beside_a_look(event_log& log, double seconds) {
  constexpr int turns = 9;
  const auto write = [&] { return events_per_second(log, true, seconds / (3 * turns)); };
  std::vector<double> alone, beside, noise, looked_at;
  for (int i = 0; i < turns; ++i) {
    alone.push_back(write());
    std::atomic<bool> stop = false;
    double looked = 0;
    std::thread looking{[&] {
      lower_priority_of_this_thread();
      looked = look_at_all(log, manner::as_the_server, &stop);
    }};
    beside.push_back(write() / alone.back());
    stop = true;
    looking.join();
    looked_at.push_back(looked);
    noise.push_back(write() / alone.back());
  }
  const auto median = [](std::vector<double>& of) {
    std::nth_element(of.begin(), of.begin() + of.size() / 2, of.end());
    return of[of.size() / 2];
  };
  return {median(alone), median(beside), median(noise), median(looked_at)};
}

void measure(event_log& log, const settings& given) {
  std::cerr << fmt::format("{} events\n{:<44} {:>6} {:>10} {:>10} {:>10}\n", log.head().value,
                           "first page of", "found", "first ms", "p50 ms", "p95 ms");
  audit_filter failed;
  failed.outcome = "failed";
  ask(log, "turns that failed (1 in 200,000 events)", failed);
  audit_filter rare;
  rare.tool = "Rare";
  rare.workspaces = {"workspace-199"};
  ask(log, "a rare tool in one workspace", rare);
  audit_filter ends;
  ends.types = {"turn.completed"};
  ask(log, "ends of turns (1 in 20 events)", ends);
  ask(log, "ends of turns, newest first", ends, direction::newest_first);
  auto nowhere = failed;
  nowhere.text = "stands nowhere";
  ask(log, "failed turns with a text that none has", nowhere);

  const auto looked = look_at_all(log, manner::as_fast_as_it_goes, nullptr);
  const auto both = beside_a_look(log, given.seconds);
  const auto without = events_per_second(log, false, given.seconds / 10);
  std::cout << fmt::format(
    R"({{"bench":"audit","events":{},"looked_at_per_second":{:.0f},"appended_per_second":{:.0f},)"
    R"("appended_beside_a_look":{:.3f},"appended_beside_nothing":{:.3f},)"
    R"("looked_at_beside_per_second":{:.0f},"appended_with_terms":{:.3f}}})"
    "\n",
    log.head().value, looked, both.alone, both.beside, both.noise, both.looked_at_beside,
    both.alone / without);
  std::cerr << fmt::format(
    "looks at {:.0f} events/s at rest, at {:.0f} beside writers that use all they get\n"
    "writes {:.0f} events/s; {:.1f} % of that beside a look, {:.1f} % beside nothing; {:.0f} % of "
    "what "
    "they would without terms\n",
    looked, both.looked_at_beside, both.alone, 100 * both.beside, 100 * both.noise,
    100 * both.alone / without);
}

settings parse(int argc, char** argv) {
  settings given;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--events") == 0)
      given.events = std::strtoull(argv[i + 1], nullptr, 10);
    else if (std::strcmp(argv[i], "--directory") == 0)
      given.directory = argv[i + 1];
    else if (std::strcmp(argv[i], "--seconds") == 0)
      given.seconds = std::strtod(argv[i + 1], nullptr);
  }
  return given;
}

} // namespace

int main(int argc, char** argv) {
  logging::set_level(logging::level::warning);
  const auto given = parse(argc, argv);
  auto pattern = (given.directory / "tidemark-bench-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) {
    std::cerr << "cannot create a directory in " << given.directory << '\n';
    return 1;
  }
  {
    rocks_log_options options;
    options.directory = std::filesystem::path{pattern} / "log";
    const auto fill = [&] {
      auto quickly = options;
      quickly.when_done = durability::os; // this is not what is measured
      auto log = open_rocks_log(quickly);
      writer writes{*log.value(), true};
      while ((*log)->head().value < given.events)
        writes.commit();
    };
    fill();
    const auto log = open_rocks_log(options);
    if (!log) {
      std::cerr << log.error().describe() << '\n';
      return 1;
    }
    measure(**log, given);
  }
  std::filesystem::remove_all(pattern);
}
