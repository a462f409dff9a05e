#include "base/logging.hpp"
#include "base/time.hpp"
#include "storage/byte_codec.hpp"
#include "storage/files.hpp"
#include "storage/key_codec.hpp"
#include "storage/record_codec.hpp"
#include "storage/rocks_event_log.hpp"

#include <rocksdb/db.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <algorithm>

#include <fmt/format.h>

// Backup and restore as the log itself sees them: a copy of its files, and the epochs that a restored log
// begins (docs/decisions/027).
namespace tidemark {

namespace {

/// In the default family; missing in a log that was never restored.
constexpr const char* incarnation_key = "log-incarnation";
constexpr std::int64_t nanoseconds_a_second = 1'000'000'000;

/// Gives every file of the blob store a second name below `copy`. Blobs never change, so a name is a copy.
expected<void> link_blobs(const std::filesystem::path& from, const std::filesystem::path& copy) {
  std::error_code code;
  if (!std::filesystem::exists(from, code))
    return {};
  for (std::filesystem::recursive_directory_iterator entry{from, code}, end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    const auto& path = entry->path();
    if (!entry->is_regular_file(ignored) || path.extension() == ".tmp")
      continue;
    const auto to = copy / path.parent_path().filename() / path.filename();
    if (auto made = files::make_directory(to.parent_path()); !made)
      return made;
    std::error_code failed;
    std::filesystem::create_hard_link(path, to, failed);
    const auto is_settled =
      !failed || failed == std::errc::file_exists || failed == std::errc::no_such_file_or_directory;
    if (!is_settled)
      return fail(errc::io, fmt::format("cannot link {}: {}", path.string(), failed.message()));
  }
  if (code)
    return fail(errc::io, fmt::format("cannot list {}: {}", from.string(), code.message()));
  return {};
}

} // namespace

expected<epoch> rocks_event_log::load_incarnation(const rocks_database& database) {
  std::string value;
  const auto status = database.db().Get({}, incarnation_key, &value);
  if (status.IsNotFound())
    return epoch{1};
  if (!status.ok())
    return tl::unexpected(to_error(status, "cannot read the incarnation of the log"));
  return epoch{bytes::reader{value}.fixed()};
}

expected<void> rocks_event_log::copy_to(const std::filesystem::path& directory) const {
  const auto open = borrow();
  if (!open)
    return tl::unexpected(open.error());
  const auto copy = [&]() -> expected<void> {
    rocksdb::Checkpoint* made = nullptr;
    auto status = rocksdb::Checkpoint::Create(&open->database().db(), &made);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint{made};
    // Flushed before it is copied, so that nearly all of it is in files that later copies share.
    if (status.ok())
      status = checkpoint->CreateCheckpoint(directory.string(), 0);
    if (!status.ok())
      return tl::unexpected(to_error(status, "cannot copy the log"));
    return {};
  };
  // Before and after: what retention removes meanwhile is in the first, what is added in the second.
  const auto blobs = directory_.path() / "blobs";
  auto early = directory;
  early += ".blobs";
  auto done = link_blobs(blobs, early).and_then(copy);
  std::error_code failed;
  if (done && std::filesystem::exists(early, failed)) {
    std::filesystem::rename(early, directory / "blobs", failed);
    if (failed)
      done = fail(errc::io, fmt::format("cannot rename {}: {}", early.string(), failed.message()));
  }
  if (done)
    done = link_blobs(blobs, directory / "blobs");
  if (!done) {
    std::filesystem::remove_all(early, failed);
    std::filesystem::remove_all(directory, failed);
  }
  return done;
}

// The second of the restore, not the next number: what was lost may have used that, and so may the server of
// another restore of the same backup. Both the log's positions and the streams' offsets begin a history that
// no cursor of any of them leads into.
expected<void> rocks_event_log::begin_new_epochs() {
  const auto second = static_cast<std::uint64_t>(now_utc().nanoseconds / nanoseconds_a_second);
  const epoch fresh{std::max(second, state_.incarnation.value + 1)};
  const auto& database = *database_;
  auto& db = database.db();
  rocksdb::WriteBatch batch;
  std::string value;
  bytes::put_fixed(value, fresh.value);
  batch.Put(incarnation_key, value);
  auto streams = stream_table{};
  streams.begin_at(fresh);
  for (auto info : state_.streams.all()) {
    // One that has ended takes no event any more, so nobody can have read another history of it.
    if (!info.ended) {
      batch.Delete(database.handle(family::streams), keys::stream_key(info.name, info.incarnation));
      if (info.head > (info.past.empty() ? offset{0} : info.past.back().last))
        info.past.push_back({info.incarnation, info.head});
      info.incarnation = std::max(fresh, info.incarnation.next());
      batch.Put(database.handle(family::streams), keys::stream_key(info.name, info.incarnation),
                records::encode(info));
    }
    streams.put(std::move(info));
  }
  rocksdb::WriteOptions options;
  options.sync = true;
  if (const auto status = db.Write(options, &batch); !status.ok())
    return tl::unexpected(to_error(status, "cannot begin the epochs of a restored log"));
  const auto marked = state_.head > position{0} ? data_directory::mark_committed(directory_.path())
                                                : data_directory::mark_complete(directory_.path());
  if (!marked)
    return marked;
  state_.streams = std::move(streams);
  state_.incarnation = fresh;
  logging::info("storage", "{} was restored from a backup: its streams go on under epoch {}",
                directory_.path().string(), fresh.value);
  return {};
}

} // namespace tidemark
