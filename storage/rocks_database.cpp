#include "storage/rocks_database.hpp"

#include "base/logging.hpp"
#include "base/time.hpp"
#include "storage/files.hpp"
#include "storage/wal_check.hpp"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <system_error>

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::string_view component = "storage";
constexpr std::array<const char*, 6> family_names{"events", "commits", "streams",
                                                  "turns",  "meta",    "terms"};
constexpr std::size_t block_cache_bytes = 64 << 20;
constexpr std::size_t write_buffer_bytes = 16 << 20;
constexpr rlim_t least_descriptors = 256;
constexpr std::size_t deletion_window = 4096;            // entries in a row
constexpr std::size_t deletions_worth_compaction = 2048; // among them

/// Passes RocksDB's warnings on to our log. RocksDB's own logger writes through its file writer,
/// which aborts the process on a full disk in builds with assertions, Debian's among them.
class forwarding_logger final : public rocksdb::Logger {
public:
  forwarding_logger() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

  using Logger::Logv;
  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < GetInfoLogLevel() || level == rocksdb::InfoLogLevel::HEADER_LEVEL)
      return;
    std::array<char, 1024> text{};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    const auto at =
      level == rocksdb::InfoLogLevel::WARN_LEVEL ? logging::level::debug : logging::level::warning;
    logging::write(at, component, fmt::format("rocksdb: {}", text.data()));
  }
  void LogHeader(const char*, va_list) override {}
  rocksdb::Status Close() override { return rocksdb::Status::OK(); }
};

rocksdb::ColumnFamilyOptions options_of(family which,
                                        const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = write_buffer_bytes;
  options.compression = rocksdb::kLZ4Compression;
  options.bottommost_compression = rocksdb::kZSTD;
  rocksdb::BlockBasedTableOptions tables;
  tables.block_cache = cache;
  tables.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  tables.format_version = 5;
  // Every commit rewrites the state of its streams. Iterators would see them change under way, so
  // this family is walked at opening only.
  options.inplace_update_support = which == family::streams;
  if (which == family::events) {
    options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(sizeof(std::uint64_t)));
    // An insertion into the memtable starts where the last one of its stream ended.
    options.memtable_insert_with_hint_prefix_extractor = options.prefix_extractor;
    // Ten bits for each of 65,000 streams, more than a memtable has events of common size.
    options.memtable_prefix_bloom_size_ratio = 0.005;
    tables.block_size = 16 << 10;
  }
  // Retention deletes one by one, so that its tombstones cost readers of what is left nothing; a file
  // with many of them is compacted, which gives the space back.
  if (which == family::events || which == family::terms)
    options.table_properties_collector_factories.push_back(
      rocksdb::NewCompactOnDeletionCollectorFactory(deletion_window, deletions_worth_compaction));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(tables));
  return options;
}

/// Half of what the process may open is left to connections and agents.
expected<int> open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return 4096;
  if (limit.rlim_cur < least_descriptors)
    return fail(
      errc::io,
      fmt::format("only {} open files are allowed; raise the limit (ulimit -n) to {} or more",
                  limit.rlim_cur, least_descriptors));
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur / 2, 4096));
}

rocksdb::DBOptions options_of(const rocks_database::settings& how, bool point_in_time,
                              int max_open_files) {
  rocksdb::DBOptions options;
  options.create_if_missing = how.create;
  if (how.below)
    options.env = how.below;
  options.info_log = std::make_shared<forwarding_logger>();
  // Point in time would open, without a word, up to a damaged byte in the middle of synced data.
  options.wal_recovery_mode = point_in_time
                                ? rocksdb::WALRecoveryMode::kPointInTimeRecovery
                                : rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.max_total_wal_size = how.max_wal_bytes;
  options.max_open_files = max_open_files;
  options.max_background_jobs = 2;
  options.allow_concurrent_memtable_write = false; // only one thread commits
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.skip_stats_update_on_db_open = true;
  return options;
}

/// Opens a database that may not be there yet, or only in part: if its first creation was cut short,
/// or if it is of a time when there were fewer families.
/// Creates the missing families at once: one by one, as RocksDB's own option does it, each of them
/// costs a rewrite of the options file, which is a good part of a first start.
rocksdb::Status create(const rocksdb::DBOptions& options, const std::string& path,
                       const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                       std::vector<rocksdb::ColumnFamilyHandle*>& handles, rocksdb::DB*& opened) {
  std::vector<std::string> names;
  if (!rocksdb::DB::ListColumnFamilies(options, path, &names).ok())
    names = {rocksdb::kDefaultColumnFamilyName}; // nothing is there
  auto present = families;
  const auto first_missing =
    std::stable_partition(present.begin(), present.end(), [&](const auto& each) {
      return std::find(names.begin(), names.end(), each.name) != names.end();
    });
  const std::vector<rocksdb::ColumnFamilyDescriptor> missing{first_missing, present.end()};
  present.erase(first_missing, present.end());

  std::vector<rocksdb::ColumnFamilyHandle*> made;
  auto status = rocksdb::DB::Open(options, path, present, &handles, &opened);
  if (status.ok() && !missing.empty())
    status = opened->CreateColumnFamilies(missing, &made);
  handles.insert(handles.end(), made.begin(), made.end());
  // In the order of `families`, as an opening gives them.
  const auto place = [&](const rocksdb::ColumnFamilyHandle* handle) {
    return std::find_if(families.begin(), families.end(),
                        [&](const auto& each) { return each.name == handle->GetName(); });
  };
  std::sort(handles.begin(), handles.end(),
            [&](const auto* a, const auto* b) { return place(a) < place(b); });
  return status;
}

/// Puts the damaged write-ahead log aside before it is opened for good, so that nothing is beyond
/// an expert's reach afterwards.
expected<void> set_wal_aside(const std::filesystem::path& directory) {
  const auto aside = directory / fmt::format("damaged-wal-{}", now_utc().nanoseconds);
  if (auto made = files::make_directory(aside); !made)
    return made;
  std::uint64_t bytes = 0;
  for (const auto& wal : wal_files(directory)) {
    std::error_code code;
    std::filesystem::copy_file(wal, aside / wal.filename(), code);
    if (code)
      return fail(errc::io, fmt::format("cannot copy {} to {}: {}", wal.string(), aside.string(),
                                        code.message()));
    bytes += std::filesystem::file_size(wal, code);
  }
  logging::warning(component,
                   "the write-ahead log is damaged; its files ({} bytes) were copied to {}", bytes,
                   aside.string());
  return {};
}

/// RocksDB keeps a write-ahead log that gave it nothing, a damaged one too: the next start would ask
/// about it again. It goes once a later one has been flushed.
rocksdb::Status drop_old_wals(rocksdb::DB& db) {
  const auto status = db.Put({}, "wal-loss-accepted", iso8601(now_utc()));
  return status.ok() ? db.Flush({}) : status;
}

error opening_error(const rocksdb::Status& status, const rocks_database::settings& how) {
  auto why = to_error(status, fmt::format("cannot open the log in {}", how.directory.string()));
  const auto lost = status.IsNotFound() || status.IsPathNotFound() || status.IsInvalidArgument()
                    || why.message.find("No such file") != std::string::npos;
  if (lost)
    why.code = errc::corrupt;
  if (why.code == errc::corrupt)
    why.message += ". Restore the directory from a backup";
  // No other damage is mended by giving up the write-ahead log.
  if (why.code == errc::corrupt && !how.accept_wal_loss && has_wal_damage(how.directory))
    why.message += fmt::format("; or start once with {}, which opens the log with what precedes "
                               "the damage of its write-ahead log",
                               accept_wal_loss_flag);
  if (why.code == errc::full)
    why.message += ". Free space on its disk and start again";
  return why;
}

} // namespace

/// Remembers the error that stopped background work until RocksDB has recovered from it.
class rocks_database::fault_listener final : public rocksdb::EventListener {
public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* error) override {
    if (error->severity() < rocksdb::Status::Severity::kHardError)
      return;
    logging::error(component, "rocksdb stopped writing: {}", error->ToString());
    const std::lock_guard lock{mutex_};
    problem_ = error->ToString();
  }
  void OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) override {
    const std::lock_guard lock{mutex_};
    problem_ = info.new_bg_error.ok() ? std::string{} : info.new_bg_error.ToString();
  }
  std::string problem() const {
    const std::lock_guard lock{mutex_};
    return problem_;
  }

private:
  mutable std::mutex mutex_;
  std::string problem_;
};

rocksdb::Status rocks_database::open_with(const settings& how, bool point_in_time) {
  const auto max_open_files = open_files_limit();
  if (!max_open_files)
    return rocksdb::Status::IOError(max_open_files.error().message);
  auto options = options_of(how, point_in_time, *max_open_files);
  faults_ = std::make_shared<fault_listener>();
  options.listeners.push_back(faults_);

  const auto cache = rocksdb::NewLRUCache(block_cache_bytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (std::size_t i = 0; i < family_names.size(); ++i)
    families.emplace_back(family_names[i], options_of(static_cast<family>(i), cache));
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions{});

  rocksdb::DB* opened = nullptr;
  const auto path = how.directory.string();
  const auto is_older = [&] {
    std::vector<std::string> names;
    return rocksdb::DB::ListColumnFamilies(options, path, &names).ok()
           && names.size() < families.size();
  };
  if (how.read_only && is_older())
    return rocksdb::Status::NotSupported(
      "the log is of an older version; start the server once to bring it up to date");
  const auto status = how.create || is_older() ? create(options, path, families, handles_, opened)
                      : how.read_only
                        ? rocksdb::DB::OpenForReadOnly(options, path, families, &handles_, &opened)
                        : rocksdb::DB::Open(options, path, families, &handles_, &opened);
  db_.reset(opened);
  return status;
}

expected<std::unique_ptr<rocks_database>> rocks_database::open(const settings& how) {
  std::unique_ptr<rocks_database> database{new rocks_database};
  const auto hidden = how.create ? std::nullopt : find_hidden_wal_damage(how.directory);
  auto status = hidden ? rocksdb::Status::Corruption(*hidden) : database->open_with(how, false);
  if (status.IsCorruption() && how.accept_wal_loss && !how.read_only) {
    if (auto kept = set_wal_aside(how.directory); !kept)
      return tl::unexpected(kept.error());
    logging::warning(component, "opening without the damaged part, as told by {}: {}",
                     accept_wal_loss_flag, status.ToString());
    status = database->open_with(how, true);
    if (status.ok())
      status = drop_old_wals(*database->db_);
  }
  if (!status.ok())
    return tl::unexpected(opening_error(status, how));
  return database;
}

rocks_database::~rocks_database() {
  if (!db_)
    return;
  for (auto* handle : handles_)
    db_->DestroyColumnFamilyHandle(handle);
  // A latched database reports its old error again; what matters was reported when it happened.
  db_->Close().PermitUncheckedError();
}

rocksdb::ColumnFamilyHandle* rocks_database::handle(family which) const {
  return handles_[static_cast<std::size_t>(which)];
}

std::string rocks_database::background_problem() const {
  return faults_->problem();
}

error to_error(const rocksdb::Status& status, std::string_view doing) {
  // RocksDB has no code for a quota that is used up, only the system's text.
  static const auto over_quota = std::generic_category().message(EDQUOT);
  auto code = errc::io;
  if (status.IsNoSpace() || status.ToString().find(over_quota) != std::string::npos)
    code = errc::full;
  else if (status.IsCorruption())
    code = errc::corrupt;
  return {code, fmt::format("{}: {}", doing, status.ToString()), code == errc::full};
}

} // namespace tidemark
