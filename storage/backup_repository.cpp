#include "storage/backup_repository.hpp"

#include "storage/data_directory.hpp"
#include "storage/files.hpp"
#include "storage/restored_directory.hpp"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tidemark {

namespace {

constexpr std::size_t object_piece_bytes = 1 << 20;
constexpr std::size_t most_manifest_bytes = 1 << 30;
constexpr std::size_t most_note_bytes = 4096;
constexpr const char* verified_name = "verified.json";

} // namespace

std::string backup_name(timestamp time) {
  auto name = iso8601(time);
  std::erase_if(name, [](char c) { return c == '-' || c == ':'; });
  return name;
}

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
    std::erase_if(*names,
                  [bound = backup_name(*latest)](const auto& name) { return name > bound; });
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
  auto name = backup_name(manifest.time);
  if (auto written = files::write_durably(directory_ / "backups" / (name + ".json"),
                                          dump_json(to_json(manifest)) + "\n");
      !written)
    return tl::unexpected(written.error());
  return name;
}

expected<void> backup_repository::note_verified(timestamp when, const std::string& newest) const {
  auto note = json::object();
  note["time"] = iso8601(when);
  note["newest"] = newest;
  return files::write_durably(directory_ / verified_name, dump_json(note) + "\n");
}

std::optional<verification> backup_repository::last_verified() const {
  const auto text = files::read_whole(directory_ / verified_name, most_note_bytes);
  if (!text || !*text)
    return std::nullopt;
  const auto note = parse_json(**text);
  const auto time = note ? parse_iso8601(string_or(*note, "time")) : expected<timestamp>{};
  if (!note || !time)
    return std::nullopt;
  return verification{*time, string_or(*note, "newest")};
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
      return bytes <= file.bytes; // it may have become endless
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

expected<void> backup_repository::show(const backup_manifest& manifest,
                                       const std::filesystem::path& into) const {
  std::error_code code;
  const auto root = std::filesystem::absolute(directory_, code) / "objects";
  for (const auto& file : manifest.files) {
    const auto to = into / file.name;
    if (auto made = files::make_directory(to.parent_path()); !made)
      return made;
    std::filesystem::create_symlink(root / to_hex(file.hash), to, code);
    if (code)
      return fail(errc::io, fmt::format("cannot create {}: {}", to.string(), code.message()));
  }
  return data_directory::mark_restored(into, manifest.head > position{0});
}

expected<void> backup_repository::copy(const backup_file& file, unfinished_file& out) const {
  const auto path = object(file.hash);
  std::error_code code;
  if (!std::filesystem::exists(path, code))
    return fail(errc::corrupt, without(file, "is missing"));
  expected<void> written;
  const auto read = files::read_pieces(path, object_piece_bytes, [&](std::string_view piece) {
    written = out.write(piece);
    return written.has_value() && out.bytes() <= file.bytes; // it may have become endless
  });
  if (!read || !written)
    return read ? written : fail(read.error().code, without(file, "cannot be read"), read.error());
  auto kept = out.keep(file);
  if (!kept && kept.error().code == errc::corrupt)
    return fail(errc::corrupt, without(file, "does not hold what its name says"));
  return kept;
}

std::string backup_repository::without(const backup_file& file, std::string_view what) const {
  const auto affected = backups_with(file.hash);
  return fmt::format("{}, which is {} of the log, {}. Backups that need it: {}. To restore another "
                     "one empty the directory first and say --at; to mend them remove that object, "
                     "if it is there, and run `tidemark backup {}` while the server has it still",
                     object(file.hash).string(), file.name, what,
                     affected ? fmt::format("{}", fmt::join(*affected, ", ")) : "unknown",
                     directory_.string());
}

expected<void> backup_repository::restore(const backup_manifest& manifest,
                                          const std::filesystem::path& into) const {
  auto to = restored_directory::begin(into);
  if (!to)
    return tl::unexpected(to.error());
  for (const auto& file : manifest.files) {
    auto out = to->create(file.name);
    if (!out)
      return tl::unexpected(out.error());
    if (auto copied = copy(file, *out); !copied)
      return copied;
  }
  return to->finish(manifest);
}

expected<std::vector<std::string>> backup_repository::backups_with(const digest& hash) const {
  const auto names = list();
  if (!names)
    return tl::unexpected(names.error());
  std::vector<std::string> found;
  for (const auto& name : *names) {
    const auto manifest = read(name);
    if (manifest
        && std::ranges::find(manifest->files, hash, &backup_file::hash) != manifest->files.end())
      found.push_back(name);
  }
  return found;
}

} // namespace tidemark
