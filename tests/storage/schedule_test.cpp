#include "tests/storage/support.hpp"

#include "storage/memory_log.hpp"

#include <map>
#include <thread>

using namespace tidemark;
using namespace tidemark::testing;

namespace {

/// What a log must hold after the same calls.
struct model {
  std::map<stream_id, std::vector<std::string>> streams;
  std::vector<std::string> all;
};

/// Random appends, reads and reopens of one log, each checked against the model.
class schedule {
public:
  schedule(std::uint32_t seed, std::filesystem::path directory)
    : random_(seed),
      directory_(std::move(directory)),
      log_(open_log(directory_)) {}

  void step() {
    switch (random_() % 16) {
    case 0: reopen(); break;
    case 1:
    case 2:
    case 3: read_one(); break;
    case 4:
    case 5: read_across(); break;
    default: commit();
    }
  }

  void finish() {
    reopen();
    for (const auto& [stream, events] : expected_.streams) {
      REQUIRE(data_of(*log_, stream) == events);
      const auto report = log_->verify(stream);
      REQUIRE(report->checked == events.size());
      REQUIRE_FALSE(report->first_bad);
    }
  }

private:
  void commit() {
    std::vector<append_request> requests;
    std::map<stream_id, offset> heads;
    std::vector<bool> right;
    for (auto left = 1 + random_() % 4; left > 0; --left) {
      const auto info = *log_->acquire(names[random_() % names.size()]);
      const auto head = heads.try_emplace(info.id, info.head).first->second;
      append_request request{info.id, info.incarnation, head, {}, {}, false};
      for (auto events = 1 + random_() % 3; events > 0; --events)
        request.events.push_back(event_of(fmt::format("{}", ++counter_)));
      if (random_() % 5 == 0)
        request.expected = head.plus(1 + random_() % 3);
      else if (!ended_in_batch(requests, info.id))
        heads[info.id] = head.plus(request.events.size());
      right.push_back(request.expected == head && !ended_in_batch(requests, info.id));
      request.ends_stream = right.back() && random_() % 20 == 0;
      requests.push_back(std::move(request));
    }
    const auto answers = log_->commit(requests);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      REQUIRE(answers[i].has_value() == right[i]);
      if (answers[i])
        take(requests[i], *answers[i]);
    }
  }

  static bool ended_in_batch(const std::vector<append_request>& requests, stream_id stream) {
    for (const auto& request : requests)
      if (request.stream == stream && request.ends_stream)
        return true;
    return false;
  }

  void take(const append_request& request, const appended& place) {
    auto& stream = expected_.streams[request.stream];
    REQUIRE(place.first == offset{stream.size() + 1});
    REQUIRE(place.first_global == position{expected_.all.size() + 1});
    for (const auto& e : request.events) {
      stream.push_back(e.data);
      expected_.all.push_back(e.data);
    }
    REQUIRE(place.last == offset{stream.size()});
  }

  template <class Read>
  void check_read(const std::vector<std::string>& events, Read read) {
    const auto from = 1 + random_() % (events.size() + 2);
    const read_limits limits{1 + random_() % 10, 1 + random_() % 100, false};
    auto next = from;
    const auto done = read(from, limits, [&](const event_view& e) {
      REQUIRE(next <= events.size());
      REQUIRE(e.data == events[next - 1]);
      ++next;
      return true;
    });
    REQUIRE(done.has_value());
    REQUIRE(done->next.value == next);
    REQUIRE(done->reached_head == (next > events.size()));
    REQUIRE((done->events > 0 || from > events.size()));
  }

  void read_one() {
    if (expected_.streams.empty())
      return;
    auto entry = expected_.streams.begin();
    std::advance(entry, static_cast<std::ptrdiff_t>(random_() % expected_.streams.size()));
    check_read(entry->second,
               [&](std::uint64_t from, read_limits limits, const event_visitor& visit) {
                 return log_->read(entry->first, offset{from}, limits, visit);
               });
  }

  void read_across() {
    check_read(expected_.all,
               [&](std::uint64_t from, read_limits limits, const event_visitor& visit) {
                 return log_->read_all(position{from}, limits, visit);
               });
  }

  void reopen() {
    log_.reset();
    log_ = open_log(directory_);
    REQUIRE(log_->figures().head == position{expected_.all.size()});
  }

  const std::vector<std::string> names{"a", "b", "c", "d"};
  std::mt19937 random_;
  std::filesystem::path directory_;
  std::unique_ptr<event_log> log_;
  model expected_;
  int counter_ = 0;
};

} // namespace

SCENARIO("random appends, reads and reopens give every event once, in order, at its place") {
  const auto seed = random_seed();
  CAPTURE(seed);
  const temporary_directory directory;
  schedule run{seed, directory.path()};
  for (int i = 0; i < 150; ++i)
    run.step();
  run.finish();
}

SCENARIO("readers on other threads see a dense, durable prefix while commits go on") {
  const temporary_directory directory;
  const auto log = open_log(directory.path());
  REQUIRE(append(*log, "a", "1").has_value());
  const auto stream = log->find("a")->id;
  std::atomic<bool> stop = false;
  std::atomic<int> rounds = 0;
  std::string problem; // written by one thread, read after it was joined
  std::thread reader{[&] {
    while (!stop) {
      const auto head = log->find("a")->head;
      try {
        if (data_of(*log, stream).size() < head.value)
          problem = "fewer events than the head said";
        const auto across = log->read_all(position{1}, {SIZE_MAX, SIZE_MAX, false},
                                          [](const event_view&) { return true; });
        if (!across)
          problem = across.error().describe();
      } catch (const std::exception& e) {
        problem = e.what();
      }
      ++rounds;
    }
  }};
  for (int i = 2; i <= 200 || rounds < 3; ++i)
    if (!append(*log, "a", std::to_string(i)).has_value())
      break;
  stop = true;
  reader.join();
  CHECK(problem.empty());
  CHECK(rounds >= 3);
}
