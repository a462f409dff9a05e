#include "storage/rocks_event_log.hpp"

#include "base/logging.hpp"
#include "storage/files.hpp"
#include "storage/key_codec.hpp"
#include "storage/record_codec.hpp"

#include <rocksdb/db.h>
#include <rocksdb/iostats_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/write_batch.h>

#include <algorithm>

#include <fmt/format.h>

namespace tidemark {

namespace {

/// The reserve never takes more than this part of a file system, so that a small one is usable.
constexpr std::uint64_t largest_reserved_part = 10;

/// Files that flushes, compactions and a reopen want at a time, with some to spare.
constexpr std::uint64_t reserved_files = 100;

/// A batch that grew beyond this gives its memory back.
constexpr std::size_t kept_batch_bytes = 8 << 20;

family family_of(table in) {
  return in == table::turns ? family::turns : family::meta;
}

/// Adds the time that it exists to a sum.
class counted_time {
public:
  explicit counted_time(std::atomic<std::chrono::nanoseconds::rep>& sum) : sum_(sum) {}
  counted_time(const counted_time&) = delete;
  counted_time& operator=(const counted_time&) = delete;
  ~counted_time() {
    const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - began_;
    sum_.fetch_add(passed.count(), std::memory_order_relaxed);
  }

private:
  std::atomic<std::chrono::nanoseconds::rep>& sum_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

std::size_t bytes_of(const append_request& request) {
  std::size_t sum = 0;
  for (const auto& e : request.events)
    sum += e.data.size() + (e.raw ? e.raw->size() : 0);
  for (const auto& write : request.derived)
    sum += write.key.size() + (write.value ? write.value->size() : 0);
  return sum;
}

std::size_t bytes_of(std::span<const append_request> requests) {
  std::size_t sum = 0;
  for (const auto& request : requests)
    sum += bytes_of(request);
  return sum;
}

} // namespace

std::chrono::nanoseconds rocks_event_log::time_committing() const {
  return std::chrono::nanoseconds{committing_.load(std::memory_order_relaxed)};
}

std::optional<error> rocks_event_log::lack_of_space(std::uint64_t bytes) const {
  const auto space = files::space_of(directory_.path());
  if (!space)
    return space.error();
  const auto reserve = std::min(options_.min_free_bytes, space->capacity / largest_reserved_part);
  // A database that may make no file stops in the middle of its work and cannot be opened again.
  const auto files = std::min(reserved_files, space->most_files / largest_reserved_part);
  if (space->free_files < files)
    return error{errc::full,
                 fmt::format("the disk of {} has no space for files: {} may still be made, {} are "
                             "kept in reserve. Remove some files; writing then goes on by itself",
                             directory_.path().string(), space->free_files, files),
                 true};
  if (space->free >= reserve + bytes)
    return std::nullopt;
  return error{
    errc::full,
    fmt::format(
      "the disk of {} is full: {} bytes are free, {} are kept in reserve, {} are to be written. "
      "Free some space; writing then goes on by itself",
      directory_.path().string(), space->free, reserve, bytes),
    true};
}

// Latched: files that no path leads to take writes as ever, and lose them all with the process. Nor
// would a directory put back be known to be whole.
std::optional<error> rocks_event_log::displacement() const {
  if (!displaced_ && directory_.is_in_place())
    return std::nullopt;
  error why{errc::io,
            fmt::format("the directory {} was moved or removed, or lost its lock file, while the "
                        "log was in use: nothing more is written. Restore it and restart",
                        directory_.path().string())};
  if (!displaced_.exchange(true))
    logging::error("storage", "{}", why.message);
  return why;
}

std::optional<error> rocks_event_log::obstacle(std::uint64_t bytes) const {
  if (options_.read_only)
    return error{errc::unavailable, "the log was opened to be read only"};
  if (auto gone = displacement())
    return gone;
  {
    const std::lock_guard lock{mutex_};
    if (!failure_.empty())
      return error{errc::io, failure_, true};
  }
  return lack_of_space(bytes);
}

std::vector<append_result> rocks_event_log::refuse_all(std::span<const append_request> requests,
                                                       const error& why) const {
  std::vector<append_result> answers;
  answers.reserve(requests.size());
  const std::lock_guard lock{mutex_};
  for (const auto& request : requests) {
    append_refusal refusal{why, {}, {}};
    if (const auto* info = state_.streams.find(request.stream)) {
      refusal.head = info->head;
      refusal.incarnation = state_.streams.newest(info->name)->incarnation;
    }
    answers.emplace_back(tl::unexpect, std::move(refusal));
  }
  return answers;
}

commit_planner rocks_event_log::begin_plan(std::span<const append_request> requests) {
  const std::lock_guard lock{mutex_};
  commit_planner plan{state_.head.next(), hasher_};
  for (const auto& request : requests)
    if (const auto* info =
          plan.knows(request.stream) ? nullptr : state_.streams.find(request.stream))
      plan.know(*info, state_.streams.newest(info->name)->incarnation);
  return plan;
}

std::vector<append_result> rocks_event_log::commit(std::span<const append_request> requests) {
  if (requests.empty())
    return {};
  const counted_time counted{committing_};
  const auto bytes = bytes_of(requests);
  if (const auto why = obstacle(bytes)) {
    if (why->code == errc::full) {
      const std::lock_guard lock{mutex_};
      refused_bytes_ = std::max<std::uint64_t>(refused_bytes_, bytes);
    }
    return refuse_all(requests, *why);
  }
  auto plan = begin_plan(requests);
  if (!batch_ || batch_->GetDataSize() > kept_batch_bytes)
    batch_ = std::make_unique<rocksdb::WriteBatch>();
  batch_->Clear();
  std::vector<append_result> answers;
  answers.reserve(requests.size());
  commit_figures cost;
  for (const auto& request : requests) {
    answers.push_back(place(request, plan));
    if (answers.back()) {
      ++cost.requests;
      cost.events += request.events.size();
      cost.bytes += bytes_of(request);
    }
  }
  if (batch_->Count() == 0)
    return answers;
  // A refusal was judged against requests that are not written after all: void, like the rest.
  if (const auto written = write(plan, cost); !written)
    return refuse_all(requests, written.error());
  if (options_.on_commit)
    options_.on_commit(cost);
  return answers;
}

expected<std::vector<std::optional<records::blob_ref>>>
rocks_event_log::store_long_lines(const append_request& request) {
  std::vector<std::optional<records::blob_ref>> stored;
  for (std::size_t i = 0; i < request.events.size(); ++i) {
    const auto& raw = request.events[i].raw;
    if (!raw || raw->size() <= options_.blob_threshold)
      continue;
    auto blob = blobs_.put(*raw);
    if (!blob)
      return tl::unexpected(blob.error());
    stored.resize(request.events.size());
    stored[i] = *blob;
  }
  return stored;
}

append_result rocks_event_log::place(const append_request& request, commit_planner& plan) {
  if (auto refusal = plan.judge(request))
    return tl::unexpected(std::move(*refusal));
  const auto long_lines = store_long_lines(request);
  if (!long_lines)
    return tl::unexpected(plan.refuse(request, long_lines.error()));
  const auto& database = *database_;
  auto answer = plan.accept(request);
  for (std::size_t i = 0; i < request.events.size(); ++i) {
    const auto& e = request.events[i];
    const auto blob = long_lines->empty() ? std::nullopt : (*long_lines)[i];
    const auto raw = e.raw && !blob ? std::string_view{*e.raw} : std::string_view{};
    records::encode(
      {answer.first_global.plus(i), e.time, answer.hashes[i], e.type, e.turn, e.data, raw, blob},
      record_);
    const auto key = keys::packed_event_key(request.stream, answer.first.plus(i));
    batch_->Put(database.handle(family::events), {key.data(), key.size()}, record_);
    if (blob) {
      posting_ = keys::blob_prefix(to_hex(blob->hash));
      keys::move_posting_key(posting_, posting_.size(), answer.first_global.plus(i));
      batch_->Put(database.handle(family::terms), posting_, {});
    }
    for (const auto& term : e.terms) {
      posting_ = keys::posting_prefix(term);
      keys::move_posting_key(posting_, posting_.size(), answer.first_global.plus(i));
      batch_->Put(database.handle(family::terms), posting_, {});
    }
  }
  add_derived(request.derived);
  return answer;
}

void rocks_event_log::add_derived(std::span<const table_write> records) {
  for (const auto& write : records) {
    if (write.value)
      batch_->Put(database_->handle(family_of(write.in)), write.key, *write.value);
    else
      batch_->Delete(database_->handle(family_of(write.in)), write.key);
  }
}

expected<void> rocks_event_log::write(const commit_planner& plan, commit_figures& cost) {
  const auto& database = *database_;
  const auto time = std::max({now_utc(), state_.last_commit, plan.newest()});
  const auto touched = plan.touched();
  for (const auto* stream : touched)
    batch_->Put(database.handle(family::streams),
                keys::stream_key(stream->name, stream->incarnation), records::encode(*stream));
  if (!plan.runs().empty())
    batch_->Put(
      database.handle(family::commits), keys::commit_key(plan.first()),
      records::encode(records::commit_record{time, {plan.runs().begin(), plan.runs().end()}}));

  rocksdb::WriteOptions options;
  // The mark below must not survive a power loss that the event it stands for does not.
  const auto must_mark = !commits_marked_ && !plan.runs().empty();
  options.sync = options_.when_done == durability::sync || must_mark;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableTimeExceptForMutex);
  rocksdb::get_iostats_context()->Reset();
  const auto started = std::chrono::steady_clock::now();
  const auto status = database.db().Write(options, batch_.get());
  cost.write = std::chrono::steady_clock::now() - started;
  cost.sync = std::chrono::nanoseconds{rocksdb::get_iostats_context()->fsync_nanos};
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  if (!status.ok()) {
    auto why = to_error(status, "the write-ahead log could not be written");
    latch(why.message);
    return fail(errc::io, why.message);
  }
  if (must_mark) {
    if (const auto marked = data_directory::mark_committed(directory_.path()); !marked) {
      latch(marked.error().message);
      return fail(errc::io, marked.error().message);
    }
    commits_marked_ = true;
  }
  const std::lock_guard lock{mutex_};
  refused_bytes_ = 0;
  for (const auto* stream : touched)
    state_.streams.put(*stream);
  state_.head = position{plan.next().value - 1};
  state_.last_commit = time;
  return {};
}

void rocks_event_log::latch(std::string reason) {
  logging::error("storage", "{}; nothing is acknowledged until the log was reopened", reason);
  const std::lock_guard lock{mutex_};
  // A later sync of the same file can report success for pages that an earlier one lost.
  failure_ =
    fmt::format("{}. Free space on, or repair, the disk of {}; the log is then reopened by itself",
                reason, directory_.path().string());
}

} // namespace tidemark
