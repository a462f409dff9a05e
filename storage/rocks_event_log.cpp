#include "storage/rocks_event_log.hpp"

#include "base/logging.hpp"
#include "storage/byte_codec.hpp"
#include "storage/files.hpp"
#include "storage/key_codec.hpp"
#include "storage/record_codec.hpp"
#include "storage/wal_check.hpp"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <chrono>

#include <fmt/format.h>

namespace tidemark {

namespace {

/// How long a reader waits for a reopen, and a reopen for the readers.
constexpr std::chrono::seconds patience{10};

/// In the default family, which holds nothing else: see `searchable_from()`.
constexpr const char* searchable_from_key = "search-from";
/// Likewise: the log has counted the references to long raw lines from its first event on.
constexpr const char* blobs_counted_key = "blobs-counted";

rocksdb::ReadOptions whole_family() {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  options.fill_cache = false;
  return options;
}

std::unique_ptr<rocksdb::Iterator> iterate(const rocks_database& database, family which) {
  return std::unique_ptr<rocksdb::Iterator>{
    database.db().NewIterator(whole_family(), database.handle(which))};
}

} // namespace

rocks_event_log::lease::~lease() {
  if (!owner_)
    return;
  const std::lock_guard lock{owner_->mutex_};
  if (--owner_->readers_ == 0)
    owner_->changed_.notify_all();
}

expected<rocks_event_log::lease> rocks_event_log::borrow() const {
  std::unique_lock lock{mutex_};
  const auto is_open = [this] { return database_ && !reopening_; };
  // Only a reopen that is under way is worth waiting for.
  changed_.wait_for(lock, patience, [&] { return is_open() || !reopening_; });
  if (!is_open())
    return fail(errc::unavailable, "the log is closed: " + failure_);
  ++readers_;
  return lease{*this};
}

rocks_event_log::rocks_event_log(rocks_log_options options, data_directory directory,
                                 rocksdb::Env* below)
  : options_(std::move(options)),
    directory_(std::move(directory)),
    below_(below),
    blobs_(directory_.path() / "blobs") {}

rocks_event_log::~rocks_event_log() = default;

expected<std::unique_ptr<event_log>> rocks_event_log::open(rocks_log_options options,
                                                           rocksdb::Env* below) {
  const auto started = std::chrono::steady_clock::now();
  auto directory =
    data_directory::open(options.directory, options.read_only, options.accept_wal_loss);
  if (!directory)
    return tl::unexpected(directory.error());
  const auto create = directory->is_new();
  std::unique_ptr<rocks_event_log> log{
    new rocks_event_log{std::move(options), std::move(*directory), below}};
  auto database = log->open_database(create);
  if (!database)
    return tl::unexpected(database.error());
  auto state = load(**database);
  if (!state)
    return tl::unexpected(state.error());
  if (create)
    if (auto marked = data_directory::mark_complete(log->directory_.path()); !marked)
      return tl::unexpected(marked.error());
  if (auto same = log->compare_with_mark(state->head); !same)
    return tl::unexpected(same.error());
  log->database_ = std::move(*database);
  log->state_ = std::move(*state);
  if (log->directory_.is_restored() && !log->options_.read_only)
    if (auto begun = log->begin_new_epochs(); !begun)
      return tl::unexpected(begun.error());
  if (auto marked = log->mark_searchable(); !marked)
    return tl::unexpected(marked.error());
  if (auto marked = log->mark_blobs_counted(); !marked)
    return tl::unexpected(marked.error());
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - started;
  logging::info("storage", "opened {} with {} streams up to position {} in {:.0f} ms",
                log->directory_.path().string(), log->state_.streams.stored_count(),
                log->state_.head.value, took.count());
  return log;
}

expected<std::unique_ptr<rocks_database>> rocks_event_log::open_database(bool create) const {
  return rocks_database::open({directory_.path(), options_.max_wal_bytes, create,
                               options_.read_only, options_.accept_wal_loss, below_});
}

expected<rocks_event_log::log_state> rocks_event_log::load(const rocks_database& database) {
  log_state state;
  const auto records = iterate(database, family::streams);
  for (records->SeekToFirst(); records->Valid(); records->Next()) {
    const auto key = keys::parse_stream_key(records->key().ToStringView());
    if (!key)
      return fail(errc::corrupt, "a stream has a malformed key; restore the log from a backup");
    auto info = records::decode_stream(key->first, key->second, records->value().ToStringView());
    if (!info)
      return fail(info.error().code,
                  fmt::format("cannot read the state of stream \"{}\"", key->first), info.error());
    state.streams.put(std::move(*info));
  }
  if (!records->status().ok())
    return tl::unexpected(to_error(records->status(), "cannot read the streams"));
  if (auto loaded = load_head(database, state); !loaded)
    return tl::unexpected(loaded.error());
  if (auto loaded = load_incarnation(database); loaded)
    state.incarnation = *loaded;
  else
    return tl::unexpected(loaded.error());
  state.streams.begin_at(state.incarnation);
  return state;
}

/// Takes the head from the newest commit, and makes sure that what it wrote is there.
expected<void> rocks_event_log::load_head(const rocks_database& database, log_state& state) {
  const auto commits = iterate(database, family::commits);
  commits->SeekToLast();
  if (!commits->Valid()) {
    if (!commits->status().ok())
      return tl::unexpected(to_error(commits->status(), "cannot read the commits"));
    if (state.streams.stored_count() > 0)
      return fail(errc::corrupt, "there are streams but no commits; restore the log from a backup");
    return {};
  }
  const auto first = keys::parse_commit_key(commits->key().ToStringView());
  const auto newest = records::decode_commit(commits->value().ToStringView());
  if (!first || !newest)
    return fail(errc::corrupt, "the newest commit is not readable; restore the log from a backup");
  state.head = position{first->value + newest->events() - 1};
  state.last_commit = newest->time;
  for (const auto& run : newest->runs) {
    const auto* info = state.streams.find(run.stream);
    const offset last{run.first.value + run.count - 1};
    rocksdb::PinnableSlice found;
    const auto was_removed = info && last <= info->trimmed;
    if (!was_removed
        && (!info || info->head < last
            || !database.db()
                  .Get({}, database.handle(family::events), keys::event_key(run.stream, last),
                       &found)
                  .ok()))
      return fail(errc::corrupt,
                  fmt::format("event {} of stream {} belongs to the newest commit and is missing; "
                              "restore the log from a backup",
                              last.value, run.stream.value));
  }
  return {};
}

expected<void> rocks_event_log::compare_with_mark(position head) {
  commits_marked_ = directory_.has_commits();
  if (!commits_marked_ || head > position{0})
    return {};
  if (!options_.accept_wal_loss)
    return fail(errc::corrupt,
                fmt::format("the log in {} is empty although events were acknowledged: its "
                            "write-ahead log was emptied. Restore the directory from a backup, or "
                            "start once with {} to begin with an empty log",
                            directory_.path().string(), accept_wal_loss_flag));
  logging::warning("storage", "{} lost all its events; it begins anew, as told by {}",
                   directory_.path().string(), accept_wal_loss_flag);
  commits_marked_ = false;
  if (options_.read_only)
    return {};
  return data_directory::mark_complete(directory_.path());
}

/// Written before the first event with terms, in order with it: so no sync is needed, and a log that has
/// no such mark has no such event.
expected<void> rocks_event_log::mark_searchable() {
  std::string value;
  auto& db = database_->db();
  auto status = db.Get({}, searchable_from_key, &value);
  if (status.ok()) {
    state_.searchable_from = position{bytes::reader{value}.fixed()};
    return {};
  }
  state_.searchable_from = state_.head.next();
  if (status.IsNotFound() && options_.read_only)
    return {};
  if (status.IsNotFound()) {
    bytes::put_fixed(value, state_.searchable_from.value);
    status = db.Put({}, searchable_from_key, value);
  }
  if (!status.ok())
    return tl::unexpected(to_error(status, "cannot note from where on the log can be searched"));
  return {};
}

/// A log of before has events whose references nobody counted: its long lines stay.
expected<void> rocks_event_log::mark_blobs_counted() {
  std::string value;
  auto& db = database_->db();
  auto status = db.Get({}, blobs_counted_key, &value);
  blobs_counted_ = status.ok();
  if (status.IsNotFound() && (options_.read_only || state_.head > position{0}))
    return {};
  if (status.IsNotFound()) {
    status = db.Put({}, blobs_counted_key, "1");
    blobs_counted_ = status.ok();
  }
  if (!status.ok())
    return tl::unexpected(to_error(status, "cannot note that long lines are counted"));
  return {};
}

bool rocks_event_log::reopen() {
  std::unique_ptr<rocks_database> closing;
  {
    std::unique_lock lock{mutex_};
    reopening_ = true;
    if (!changed_.wait_for(lock, patience, [this] { return readers_ == 0; })) {
      reopening_ = false;
      changed_.notify_all();
      return false;
    }
    closing = std::move(database_);
  }
  closing.reset(); // RocksDB's own lock must be free before it is opened again
  auto database = open_database(false);
  auto state = database ? load(**database) : tl::unexpected(database.error());
  const std::lock_guard lock{mutex_};
  reopening_ = false;
  changed_.notify_all();
  if (state && state->head < state_.head)
    state = fail(errc::corrupt,
                 fmt::format("{} ends at position {}, but events up to {} were acknowledged; "
                             "restore the log from a backup and restart",
                             directory_.path().string(), state->head.value, state_.head.value));
  if (!state) {
    failure_ = state.error().describe();
    return false;
  }
  state->streams.inherit_unwritten(state_.streams);
  state->searchable_from = state_.searchable_from;
  database_ = std::move(*database);
  state_ = std::move(*state);
  failure_.clear();
  logging::info("storage", "reopened {} up to position {}", directory_.path().string(),
                state_.head.value);
  return true;
}

bool rocks_event_log::try_recover() {
  if (options_.read_only)
    return false;
  if (displacement())
    return false;
  std::uint64_t wanted = 0;
  {
    const std::lock_guard lock{mutex_};
    wanted = refused_bytes_;
  }
  if (lack_of_space(wanted))
    return false; // an open database still serves readers; a failed reopen would not
  bool must_reopen = false;
  {
    const std::lock_guard lock{mutex_};
    refused_bytes_ = 0;
    must_reopen = !failure_.empty() || !database_ || !database_->background_problem().empty();
  }
  return !must_reopen || (takes_bytes() && reopen());
}

// The free space of a file system says nothing about a quota, nor about a disk that fails.
bool rocks_event_log::takes_bytes() const {
  constexpr std::size_t as_a_reopen_writes = 1 << 20;
  const auto probe = directory_.path() / "tidemark.probe";
  const auto written = files::write_durably(probe, std::string(as_a_reopen_writes, '.'));
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
  return written.has_value();
}

log_health rocks_event_log::health() const {
  if (options_.read_only)
    return {false, "the log was opened to be read only"};
  if (const auto gone = displacement())
    return {false, gone->message};
  std::uint64_t wanted = 0;
  {
    const std::lock_guard lock{mutex_};
    wanted = refused_bytes_;
    if (!failure_.empty())
      return {false, failure_};
    if (auto problem = database_ ? database_->background_problem() : std::string{};
        !problem.empty())
      return {false,
              fmt::format("the database stopped writing ({}); it is reopened once that is possible",
                          problem)};
  }
  if (const auto lack = lack_of_space(wanted))
    return {false, lack->message};
  return {};
}

expected<stream_info> rocks_event_log::acquire(std::string_view name) {
  if (!keys::is_valid_name(name))
    return fail(
      errc::invalid_argument,
      fmt::format("a stream's name has 1 to {} bytes, none of them zero", keys::max_name_bytes));
  const std::lock_guard lock{mutex_};
  return state_.streams.acquire(name);
}

expected<stream_info> rocks_event_log::find(std::string_view name) const {
  const std::lock_guard lock{mutex_};
  if (const auto* found = state_.streams.newest(name))
    return *found;
  return fail(errc::not_found, fmt::format("the log has no stream \"{}\"", name));
}

expected<stream_info> rocks_event_log::info_of(stream_id stream) const {
  const std::lock_guard lock{mutex_};
  if (const auto* found = state_.streams.find(stream))
    return *found;
  return fail(errc::not_found, fmt::format("the log has no stream {}", stream.value));
}

position rocks_event_log::head() const {
  const std::lock_guard lock{mutex_};
  return state_.head;
}

std::vector<stream_info> rocks_event_log::streams() const {
  const std::lock_guard lock{mutex_};
  return state_.streams.stored();
}

log_heads rocks_event_log::heads() const {
  const std::lock_guard lock{mutex_};
  return {state_.incarnation, state_.head, state_.streams.stored()};
}

epoch rocks_event_log::incarnation() const {
  const std::lock_guard lock{mutex_};
  return state_.incarnation;
}

log_figures rocks_event_log::figures() const {
  log_figures figures;
  std::error_code code;
  for (std::filesystem::directory_iterator entry{directory_.path(), code}, end;
       !code && entry != end; entry.increment(code)) {
    std::error_code gone;
    if (!entry->is_regular_file(gone))
      continue;
    const auto size = entry->file_size(gone);
    if (gone)
      continue; // compaction removed it between the listing and the question
    figures.bytes_on_disk += size;
    if (entry->path().extension() == ".log")
      figures.wal_bytes += size;
  }
  figures.bytes_on_disk += blobs_.bytes_on_disk();
  const std::lock_guard lock{mutex_};
  figures.streams = state_.streams.stored_count();
  figures.head = state_.head;
  return figures;
}

expected<std::unique_ptr<event_log>> open_rocks_log(rocks_log_options options) {
  return rocks_event_log::open(std::move(options));
}

} // namespace tidemark
