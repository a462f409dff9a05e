#include "storage/backup_repository.hpp"

#include "storage/data_directory.hpp"
#include "storage/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::size_t object_piece_bytes = 1 << 20;
constexpr std::size_t most_manifest_bytes = 1 << 30;

tl::unexpected<error> cannot(std::string_view doing, const std::filesystem::path& path, int code) {
  const auto is_full = code == ENOSPC || code == EDQUOT;
  return fail(is_full ? errc::full : errc::io, fmt::format("cannot {} {}: {}", doing, path.string(),
                                                           std::generic_category().message(code)));
}

/// `2026-01-31T17:05:09.042Z` without what some file systems do not take.
std::string name_of(timestamp time) {
  auto name = iso8601(time);
  std::erase_if(name, [](char c) { return c == '-' || c == ':'; });
  return name;
}

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

backup_repository::backup_repository(std::filesystem::path directory)
  : directory_(std::move(directory)) {}

expected<backup_repository> backup_repository::open(const std::filesystem::path& directory,
                                                    bool create) {
  if (create) {
    for (const auto* part : {"objects", "backups"})
      if (auto made = files::make_directory(directory / part); !made)
        return tl::unexpected(made.error());
  } else {
    std::error_code code;
    if (!std::filesystem::is_directory(directory / "backups", code))
      return fail(errc::not_found,
                  fmt::format("{} holds no backups: `tidemark backup {}` makes one",
                              directory.string(), directory.string()));
  }
  return backup_repository{directory};
}

std::filesystem::path backup_repository::object(const digest& hash) const {
  return directory_ / "objects" / to_hex(hash);
}

bool backup_repository::has(const backup_file& file) const {
  std::error_code code;
  return std::filesystem::file_size(object(file.hash), code) == file.bytes && !code;
}

expected<std::vector<std::string>> backup_repository::list() const {
  std::vector<std::string> names;
  std::error_code code;
  for (std::filesystem::directory_iterator entry{directory_ / "backups", code}, end;
       !code && entry != end; entry.increment(code))
    if (entry->path().extension() == ".json")
      names.push_back(entry->path().stem().string());
  if (code)
    return fail(errc::io, fmt::format("cannot list the backups in {}: {}", directory_.string(),
                                      code.message()));
  std::ranges::sort(names);
  return names;
}

expected<backup_manifest> backup_repository::read(const std::string& name) const {
  const auto file = directory_ / "backups" / (name + ".json");
  const auto text = files::read_whole(file, most_manifest_bytes);
  if (!text)
    return tl::unexpected(text.error());
  if (!*text)
    return fail(errc::not_found, fmt::format("there is no {}", file.string()));
  auto manifest = parse_json(**text).and_then(parse_backup_manifest);
  if (!manifest)
    return fail(manifest.error().code, file.string(), manifest.error());
  return manifest;
}

expected<backup_manifest> backup_repository::newest(std::optional<timestamp> latest) const {
  auto names = list();
  if (!names)
    return tl::unexpected(names.error());
  if (latest)
    std::erase_if(*names, [bound = name_of(*latest)](const auto& name) { return name > bound; });
  if (!names->empty())
    return read(names->back());
  return fail(errc::not_found,
              latest ? fmt::format("{} holds no backup of {} or before", directory_.string(),
                                   iso8601(*latest))
                     : fmt::format("{} holds no backup that was finished", directory_.string()));
}

expected<std::string> backup_repository::add(const backup_manifest& manifest) {
  if (auto synced = files::sync_directory(directory_ / "objects"); !synced)
    return tl::unexpected(synced.error());
  auto name = name_of(manifest.time);
  if (auto written = files::write_durably(directory_ / "backups" / (name + ".json"),
                                          dump_json(to_json(manifest)) + "\n");
      !written)
    return tl::unexpected(written.error());
  return name;
}

std::vector<std::string> backup_repository::damage(const backup_manifest& manifest) const {
  std::vector<std::string> found;
  running_sha256 hasher;
  std::set<digest> seen;
  for (const auto& file : manifest.files) {
    if (!seen.insert(file.hash).second)
      continue;
    const auto path = object(file.hash);
    std::uint64_t bytes = 0;
    const auto read = files::read_pieces(path, object_piece_bytes, [&](std::string_view piece) {
      hasher.add(piece);
      bytes += piece.size();
      return true;
    });
    const auto hash = hasher.end();
    std::error_code code;
    if (!read)
      found.push_back(fmt::format("{}: {}", file.name, read.error().describe()));
    else if (!std::filesystem::exists(path, code))
      found.push_back(fmt::format("{}: {} is missing", file.name, path.string()));
    else if (bytes != file.bytes || hash != file.hash)
      found.push_back(
        fmt::format("{}: {} does not hold what its name says", file.name, path.string()));
  }
  return found;
}

expected<void> backup_repository::link(const backup_manifest& manifest,
                                       const std::filesystem::path& into) const {
  for (const auto& file : manifest.files) {
    const auto to = into / file.name;
    if (auto made = files::make_directory(to.parent_path()); !made)
      return made;
    std::error_code code;
    std::filesystem::create_hard_link(object(file.hash), to, code);
    if (code) // a file system without them
      if (auto copied = copy(file, to); !copied)
        return copied;
  }
  return data_directory::mark_restored(into, manifest.head > position{0});
}

expected<void> backup_repository::copy(const backup_file& file,
                                       const std::filesystem::path& to) const {
  auto out = unfinished_file::create(to);
  if (!out)
    return tl::unexpected(out.error());
  expected<void> written;
  const auto read =
    files::read_pieces(object(file.hash), object_piece_bytes, [&](std::string_view piece) {
      written = out->write(piece);
      return written.has_value();
    });
  if (!read || !written)
    return read ? written : read;
  return out->keep(file);
}

expected<void> backup_repository::restore(const backup_manifest& manifest,
                                          const std::filesystem::path& into) const {
  if (auto made = files::make_directory(into); !made)
    return made;
  const auto empty = is_unused(into);
  if (!empty)
    return tl::unexpected(empty.error());
  if (!*empty)
    return fail(errc::conflict,
                fmt::format("{} is not empty: a backup is restored into a directory of its own",
                            into.string()));
  if (auto marked = data_directory::mark_restoring(into); !marked)
    return marked;
  std::set<std::filesystem::path> directories{into};
  for (const auto& file : manifest.files) {
    const auto to = into / file.name;
    for (auto parent = to.parent_path(); parent != into; parent = parent.parent_path())
      directories.insert(parent);
    if (auto made = files::make_directory(to.parent_path()); !made)
      return made;
    if (auto copied = copy(file, to); !copied)
      return copied;
  }
  for (const auto& directory : directories)
    if (auto synced = files::sync_directory(directory); !synced)
      return synced;
  return data_directory::mark_restored(into, manifest.head > position{0});
}

unfinished_file::unfinished_file(std::filesystem::path file, int descriptor)
  : file_(std::move(file)),
    descriptor_(descriptor),
    hasher_(std::make_unique<running_sha256>()) {}

expected<unfinished_file> unfinished_file::create(const std::filesystem::path& file) {
  auto part = file;
  part += ".part";
  ::unlink(part.c_str());
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return cannot("create", part, errno);
  return unfinished_file{file, descriptor};
}

unfinished_file::unfinished_file(unfinished_file&& other) noexcept
  : file_(std::move(other.file_)),
    descriptor_(std::exchange(other.descriptor_, -1)),
    bytes_(other.bytes_),
    hasher_(std::move(other.hasher_)) {}

unfinished_file::~unfinished_file() {
  if (descriptor_ < 0)
    return;
  ::close(descriptor_);
  auto part = file_;
  part += ".part";
  ::unlink(part.c_str());
}

expected<void> unfinished_file::write(std::string_view piece) {
  hasher_->add(piece);
  bytes_ += piece.size();
  while (!piece.empty()) {
    const auto written = ::write(descriptor_, piece.data(), piece.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return cannot("write", file_, errno);
    piece.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

expected<void> unfinished_file::keep(const backup_file& as) {
  if (bytes_ != as.bytes || hasher_->end() != as.hash)
    return fail(errc::corrupt, fmt::format("what was read for {} is not what it must be", as.name));
  if (::fsync(descriptor_) != 0)
    return cannot("sync", file_, errno);
  auto part = file_;
  part += ".part";
  if (::rename(part.c_str(), file_.c_str()) != 0)
    return cannot("rename", part, errno);
  ::close(std::exchange(descriptor_, -1));
  return {};
}

} // namespace tidemark
