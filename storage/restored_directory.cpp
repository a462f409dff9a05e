#include "storage/restored_directory.hpp"

#include "storage/data_directory.hpp"
#include "storage/files.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

/// Also a directory that holds nothing but what a file system puts there.
expected<bool> is_unused(const std::filesystem::path& directory) {
  std::error_code code;
  for (std::filesystem::directory_iterator entry{directory, code}, end; !code && entry != end;
       entry.increment(code))
    if (entry->path().filename() != "lost+found")
      return false;
  if (code && code != std::errc::no_such_file_or_directory)
    return fail(errc::io, fmt::format("cannot list {}: {}", directory.string(), code.message()));
  return true;
}

} // namespace

restored_directory::restored_directory(std::filesystem::path into)
  : into_(std::move(into)),
    directories_{into_} {}

expected<restored_directory> restored_directory::begin(const std::filesystem::path& into) {
  if (auto made = files::make_directory(into); !made)
    return tl::unexpected(made.error());
  const auto empty = is_unused(into);
  if (!empty)
    return tl::unexpected(empty.error());
  if (!*empty)
    return fail(errc::conflict,
                fmt::format("{} is not empty: a backup is restored into a directory of its own",
                            into.string()));
  if (auto marked = data_directory::mark_restoring(into); !marked)
    return tl::unexpected(marked.error());
  return restored_directory{into};
}

expected<unfinished_file> restored_directory::create(const std::string& name) {
  const auto to = into_ / name;
  for (auto parent = to.parent_path(); parent != into_; parent = parent.parent_path())
    directories_.insert(parent);
  if (auto made = files::make_directory(to.parent_path()); !made)
    return tl::unexpected(made.error());
  return unfinished_file::create(to);
}

expected<void> restored_directory::finish(const backup_manifest& manifest) {
  for (const auto& directory : directories_)
    if (auto synced = files::sync_directory(directory); !synced)
      return synced;
  return data_directory::mark_restored(into_, manifest.head > position{0});
}

} // namespace tidemark
