#include "storage/backup_pruning.hpp"

#include "storage/files.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

namespace tidemark {

namespace {

expected<void> remove_file(const std::filesystem::path& file) {
  std::error_code code;
  std::filesystem::remove(file, code);
  if (code)
    return fail(errc::io, fmt::format("cannot remove {}: {}", file.string(), code.message()));
  return {};
}

/// The files in a directory. Errors: `io`.
expected<std::vector<std::filesystem::path>> files_of(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  std::error_code code;
  for (std::filesystem::directory_iterator entry{directory, code}, end; !code && entry != end;
       entry.increment(code))
    found.push_back(entry->path());
  if (code)
    return fail(errc::io, fmt::format("cannot list {}: {}", directory.string(), code.message()));
  return found;
}

/// Also what an interrupted run left; nothing that somebody else has put there.
bool is_object(const std::filesystem::path& file) {
  return digest_from_hex(file.filename().string())
         || (file.extension() == ".part" && digest_from_hex(file.stem().string()));
}

expected<void> remove_unnamed(const backup_repository& from, const std::set<digest>& named,
                              pruned& sum) {
  const auto objects = files_of(from.directory() / "objects");
  if (!objects)
    return tl::unexpected(objects.error());
  for (const auto& file : *objects) {
    const auto hash = digest_from_hex(file.filename().string());
    if (!is_object(file) || (hash && named.contains(*hash)))
      continue;
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(file, unknown);
    if (auto removed = remove_file(file); !removed)
      return removed;
    ++sum.objects;
    sum.bytes += unknown ? 0 : bytes;
  }
  return {};
}

} // namespace

std::vector<std::string> not_kept(const std::vector<dated_backup>& all, const keep_rules& keep) {
  std::vector<std::string> gone;
  if (!keep.last && !keep.within)
    return gone;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto is_among_last = keep.last && all.size() - i <= std::max<std::size_t>(*keep.last, 1);
    const auto is_within = keep.within && all[i].time.plus(*keep.within) >= all.back().time;
    if (!is_among_last && !is_within)
      gone.push_back(all[i].name);
  }
  return gone;
}

expected<pruned> prune(const backup_repository& from, const keep_rules& keep) {
  const auto names = from.list();
  if (!names)
    return tl::unexpected(names.error());
  std::vector<dated_backup> all;
  std::map<std::string, std::set<digest>> contents;
  for (const auto& name : *names) {
    const auto manifest = from.read(name);
    if (!manifest)
      return tl::unexpected(manifest.error());
    all.push_back({name, manifest->time});
    for (const auto& file : manifest->files)
      contents[name].insert(file.hash);
  }
  pruned sum;
  sum.backups = not_kept(all, keep);
  const auto backups = from.directory() / "backups";
  for (const auto& name : sum.backups) {
    if (auto removed = remove_file(backups / (name + ".json")); !removed)
      return tl::unexpected(removed.error());
    contents.erase(name);
  }
  // A list that came back after a power loss must find its objects.
  if (auto synced = files::sync_directory(backups); !synced)
    return tl::unexpected(synced.error());
  std::set<digest> named;
  for (auto& [name, hashes] : contents)
    named.merge(hashes);
  if (auto removed = remove_unnamed(from, named, sum); !removed)
    return tl::unexpected(removed.error());
  return sum;
}

} // namespace tidemark
