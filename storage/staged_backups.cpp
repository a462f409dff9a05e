#include "storage/staged_backups.hpp"

#include "base/logging.hpp"
#include "base/uuid.hpp"
#include "storage/files.hpp"
#include "storage/hash_chain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tidemark {

namespace {

constexpr std::size_t hashed_piece_bytes = 1 << 20;
constexpr std::int64_t manifest_precision = 1'000'000;

} // namespace

staged_backups::staged_backups(const event_log& log, const std::filesystem::path& directory,
                               settings how)
  : log_(log),
    directory_(directory / "backup-staging"),
    how_(how) {
  std::error_code failed;
  if (std::filesystem::remove_all(directory_, failed) > 0 && !failed)
    logging::info("storage", "removed what a backup of an earlier run had left in {}",
                  directory_.string());
  if (failed)
    logging::warning("storage", "cannot remove {}: {}", directory_.string(), failed.message());
}

staged_backups::~staged_backups() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

expected<backup_manifest> staged_backups::make() {
  expire();
  const std::lock_guard one_at_a_time{making_};
  {
    const std::lock_guard lock{mutex_};
    if (copies_.size() >= how_.most)
      return fail(errc::conflict, fmt::format("{} backups are being fetched; a further one has to "
                                              "wait until one is released",
                                              copies_.size()));
  }
  if (auto made = files::make_directory(directory_); !made)
    return tl::unexpected(made.error());
  const auto id = new_uuid(now_utc());
  const auto heads = log_.heads(); // of before: all of it is in the copy
  auto time = now_utc();
  time.nanoseconds -= time.nanoseconds % manifest_precision;
  if (auto copied = log_.copy_to(directory_ / id); !copied)
    return tl::unexpected(copied.error());
  auto manifest = describe(id);
  if (!manifest) {
    remove(id);
    return manifest;
  }
  manifest->time = time;
  manifest->incarnation = heads.incarnation;
  manifest->head = heads.head;
  const std::lock_guard lock{mutex_};
  auto& entry = copies_[id];
  entry.used = clock::now();
  for (const auto& file : manifest->files)
    entry.names.emplace(file.hash, file.name);
  logging::info("storage", "copied the log up to position {} for a backup: {} files, {} bytes",
                manifest->head.value, manifest->files.size(), manifest->bytes());
  return manifest;
}

expected<backup_manifest> staged_backups::describe(const std::string& id) {
  backup_manifest manifest{id, {}, {}, {}, {}};
  const auto root = directory_ / id;
  std::error_code code;
  for (std::filesystem::recursive_directory_iterator entry{root, code}, end; !code && entry != end;
       entry.increment(code)) {
    if (!entry->is_regular_file(code))
      continue;
    backup_file file{entry->path().lexically_relative(root).string(), entry->file_size(code), {}};
    const auto hash = hash_of(entry->path(), file.name, file.bytes);
    if (!hash)
      return tl::unexpected(hash.error());
    file.hash = *hash;
    manifest.files.push_back(std::move(file));
  }
  if (code)
    return fail(errc::io, fmt::format("cannot list {}: {}", root.string(), code.message()));
  std::ranges::sort(manifest.files, {}, &backup_file::name);
  return manifest;
}

expected<digest> staged_backups::hash_of(const std::filesystem::path& path, const std::string& name,
                                         std::uint64_t bytes) {
  std::error_code failed;
  const auto changed = std::filesystem::last_write_time(path, failed).time_since_epoch().count();
  const identity which{name, bytes, static_cast<std::int64_t>(changed)};
  const auto never_changes = path.extension() == ".sst" || name.starts_with("blobs/");
  if (const auto known = hashes_.find(which); never_changes && known != hashes_.end())
    return known->second;
  running_sha256 hasher;
  const auto read = files::read_pieces(path, hashed_piece_bytes, [&](std::string_view piece) {
    hasher.add(piece);
    return true;
  });
  if (!read)
    return tl::unexpected(read.error());
  const auto hash = hasher.end();
  if (never_changes && !failed)
    hashes_[which] = hash;
  return hash;
}

expected<std::filesystem::path> staged_backups::file(std::string_view id, const digest& hash) {
  const std::lock_guard lock{mutex_};
  const auto found = copies_.find(id);
  if (found == copies_.end())
    return fail(errc::not_found, "there is no such backup, or it was released");
  const auto name = found->second.names.find(hash);
  if (name == found->second.names.end())
    return fail(errc::not_found, "the backup has no such file");
  found->second.used = clock::now();
  return directory_ / found->first / name->second;
}

expected<void> staged_backups::release(std::string_view id) {
  {
    const std::lock_guard lock{mutex_};
    const auto found = copies_.find(id);
    if (found == copies_.end())
      return fail(errc::not_found, "there is no such backup, or it was released");
    copies_.erase(found);
  }
  remove(std::string{id});
  return {};
}

void staged_backups::expire() {
  std::vector<std::string> old;
  {
    const std::lock_guard lock{mutex_};
    const auto now = clock::now();
    for (const auto& [id, entry] : copies_)
      if (now - entry.used >= how_.lifetime)
        old.push_back(id);
  }
  for (const auto& id : old)
    if (release(id))
      logging::warning("storage", "gave up backup {}, which nobody has fetched or released", id);
}

std::size_t staged_backups::count() const {
  const std::lock_guard lock{mutex_};
  return copies_.size();
}

void staged_backups::remove(const std::string& id) {
  std::error_code failed;
  std::filesystem::remove_all(directory_ / id, failed);
  if (failed)
    logging::warning("storage", "cannot remove {}: {}", (directory_ / id).string(),
                     failed.message());
}

} // namespace tidemark
