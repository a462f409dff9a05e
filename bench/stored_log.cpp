#include "bench/stored_log.hpp"

#include "actors/workspace_core.hpp"
#include "storage/rocks_log.hpp"

#include <algorithm>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace tidemark::bench {

namespace {

constexpr std::size_t events_a_turn = 20;
constexpr std::size_t turns_a_commit = 25;

/// Workspaces that get turn after turn, in rotation.
class writing {
public:
  writing(const std::filesystem::path& directory, std::uint64_t workspaces) {
    options_.directory = directory;
    options_.when_done = durability::os; // nothing here is measured
    auto opened = open_rocks_log(options_);
    if (!opened)
      throw std::runtime_error(opened.error().describe());
    log_ = std::move(*opened);
    for (std::uint64_t i = 0; i < workspaces; ++i)
      streams_.push_back(log_->acquire(fmt::format("workspace-{:05}", i)).value());
  }

  /// Writes one commit; returns the number of its events.
  std::size_t commit(std::size_t most_events) {
    std::vector<append_request> requests;
    const auto first = next_;
    std::size_t events = 0;
    while (requests.size() < std::min(turns_a_commit, streams_.size()) && events < most_events) {
      requests.push_back(turn_of(streams_[next_++ % streams_.size()]));
      events += requests.back().events.size();
    }
    const auto answers = log_->commit(requests);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i])
        throw std::runtime_error(answers[i].error().why.describe());
      streams_[(first + i) % streams_.size()].head = answers[i]->last;
    }
    return events;
  }

  [[nodiscard]] std::uint64_t wal_bytes() const { return log_->figures().wal_bytes; }
  [[nodiscard]] std::uint64_t max_wal_bytes() const { return options_.max_wal_bytes; }

private:
  append_request turn_of(const stream_info& stream) {
    append_request request{stream.id, stream.incarnation, stream.head, {}, {}, false};
    const auto turn = fmt::format("{:08x}-0000-4000-8000-{:012x}", ++turns_, stream.id.value);
    const auto now = now_utc();
    for (std::size_t i = 0; i < events_a_turn; ++i)
      request.events.push_back({"item.delta", turn, now,
                                fmt::format(R"({{"item":"{}-{}","text":"{:x} {:x} {:x}"}})", turn,
                                            i, turns_ * 2654435761U, i * 40503U, stream.id.value)});
    workspace_summary summary;
    summary.id = stream.name;
    summary.created = summary.updated = now;
    summary.session = turn;
    request.derived.push_back({table::meta, record_key::summary(stream.name), to_record(summary)});
    request.derived.push_back(
      {table::turns, record_key::turn(stream.id, turn),
       fmt::format(R"({{"turn":"{}","outcome":"succeeded","text":"{}"}})", turn, turns_)});
    return request;
  }

  rocks_log_options options_;
  std::unique_ptr<event_log> log_;
  std::vector<stream_info> streams_;
  std::size_t next_ = 0;
  std::uint64_t turns_ = 0;
};

} // namespace

void write_log(const std::filesystem::path& directory, std::uint64_t workspaces,
               std::uint64_t events) {
  writing to{directory, workspaces};
  for (std::uint64_t written = 0; written < events;)
    written += to.commit(events - written);
}

void grow_wal_and_die(const std::filesystem::path& directory) {
  constexpr std::uint64_t few = 500;
  constexpr double nearly = 0.97;
  writing to{directory, few};
  while (static_cast<double>(to.wal_bytes()) < nearly * static_cast<double>(to.max_wal_bytes()))
    to.commit(events_a_turn * turns_a_commit);
  std::raise(SIGKILL);
  throw std::runtime_error("survived SIGKILL");
}

} // namespace tidemark::bench
