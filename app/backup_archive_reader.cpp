#include "app/archive_library.hpp"
#include "app/backup_archive.hpp"
#include "base/json.hpp"
#include "storage/backup_repository.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::size_t most_piece_bytes = 1 << 20;

class archive_reader {
public:
  archive_reader(const archive_library& library, const std::filesystem::path& file)
    : library_(library),
      file_(file),
      in_(library.read_new()) {}
  archive_reader(const archive_reader&) = delete;
  archive_reader& operator=(const archive_reader&) = delete;
  ~archive_reader() {
    if (in_)
      library_.read_free(in_);
    if (descriptor_ >= 0)
      ::close(descriptor_);
  }

  expected<void> open() {
    descriptor_ = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0)
      return fail(
        errno == ENOENT ? errc::not_found : errc::io,
        fmt::format("cannot open {}: {}", file_.string(), std::generic_category().message(errno)));
    struct stat found {};
    if (::fstat(descriptor_, &found) != 0 || !S_ISREG(found.st_mode))
      return fail(errc::corrupt, fmt::format("{} is no regular file", file_.string()));
    if (!in_ || library_.read_support_filter_zstd(in_) != ARCHIVE_OK
        || library_.read_support_format_tar(in_) != ARCHIVE_OK)
      return fail(errc::unavailable, "libarchive cannot read tar archives in zstd here");
    if (library_.read_open_fd(in_, descriptor_, most_piece_bytes) != ARCHIVE_OK)
      return damaged();
    return {};
  }

  /// Goes to the next entry, which must be a file with its size and nothing else; false at the end.
  expected<bool> next() {
    const auto done = library_.read_next_header(in_, &entry_);
    if (done == ARCHIVE_EOF)
      return false;
    if (done != ARCHIVE_OK)
      return damaged();
    const char* name = library_.entry_pathname(entry_);
    name_ = name ? name : "";
    const auto size = library_.entry_size(entry_);
    const bool is_plain = library_.entry_filetype(entry_) == AE_IFREG
                          && !library_.entry_hardlink(entry_) && !library_.entry_symlink(entry_)
                          && library_.entry_sparse_count(entry_) == 0
                          && library_.entry_size_is_set(entry_) && size >= 0;
    if (!is_plain)
      return foreign("is no plain file");
    bytes_ = static_cast<std::uint64_t>(size);
    return true;
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// The entry's bytes, exactly as many as it said.
  expected<void> read(const std::function<expected<void>(std::string_view)>& take) {
    buffer_.resize(most_piece_bytes);
    std::uint64_t got = 0;
    for (;;) {
      const auto some = library_.read_data(in_, buffer_.data(), buffer_.size());
      if (some < 0)
        return damaged();
      if (some == 0)
        break;
      got += static_cast<std::uint64_t>(some);
      if (got > bytes_)
        return foreign("holds more than it says");
      if (auto taken = take({buffer_.data(), static_cast<std::size_t>(some)}); !taken)
        return taken;
    }
    if (got != bytes_)
      return foreign("holds less than it says");
    return {};
  }

  /// Of the entry.
  [[nodiscard]] tl::unexpected<error> foreign(std::string_view what) const {
    return fail(errc::corrupt,
                fmt::format("{} is no archive that `tidemark backup` has made, or was altered: its "
                            "\"{}\" {}",
                            file_.string(), name_, what));
  }

private:
  [[nodiscard]] tl::unexpected<error> damaged() const {
    const char* why = library_.error_string(in_);
    return fail(errc::corrupt, fmt::format("{} is damaged or no tar archive in zstd: {}",
                                           file_.string(), why ? why : "it ends too early"));
  }

  const archive_library& library_;
  const std::filesystem::path& file_;
  archive* in_;
  archive_entry* entry_ = nullptr;
  int descriptor_ = -1;
  std::string name_;
  std::uint64_t bytes_ = 0;
  std::string buffer_;
};

/// The first entry, which bounds all that follow.
expected<backup_manifest> read_manifest(archive_reader& in, const std::filesystem::path& file) {
  const auto there = in.next();
  if (!there)
    return tl::unexpected(there.error());
  if (!*there)
    return fail(errc::corrupt, fmt::format("{} is empty", file.string()));
  if (!in.name().starts_with("backups/") || !in.name().ends_with(".json"))
    return in.foreign(
      "stands first, where its list of files must be. (An archive of a directory of "
      "backups is unpacked with tar first.)");
  if (in.bytes() > most_archived_manifest_bytes)
    return in.foreign("is larger than it can be");
  std::string text;
  const auto take = [&](std::string_view piece) -> expected<void> {
    text += piece;
    return {};
  };
  if (auto read = in.read(take); !read)
    return tl::unexpected(read.error());
  auto manifest = parse_json(text).and_then(parse_backup_manifest);
  if (!manifest)
    return fail(errc::corrupt, file.string(), manifest.error());
  if (in.name() != "backups/" + backup_name(manifest->time) + ".json")
    return in.foreign("is not named after its time");
  return manifest;
}

} // namespace

expected<backup_manifest> read_backup_archive(const std::filesystem::path& file,
                                              const backup_archive_visitor& visit) {
  const auto library = archive_library::instance();
  if (!library)
    return tl::unexpected(library.error());
  archive_reader in{**library, file};
  if (auto opened = in.open(); !opened)
    return tl::unexpected(opened.error());
  auto manifest = read_manifest(in, file);
  if (!manifest)
    return manifest;
  if (auto begun = visit.begin(*manifest); !begun)
    return tl::unexpected(begun.error());
  std::map<std::string, const backup_file*> missing; // by the name of the entry
  for (const auto& each : manifest->files)
    missing.emplace("objects/" + to_hex(each.hash), &each);
  running_sha256 hasher;
  for (;;) {
    const auto there = in.next();
    if (!there)
      return tl::unexpected(there.error());
    if (!*there)
      break;
    const auto found = missing.find(in.name());
    if (found == missing.end())
      return in.foreign("is not in its list, or is there twice");
    const auto& object = *found->second;
    if (in.bytes() != object.bytes)
      return in.foreign("has not the size that its list says");
    const auto take = [&](std::string_view piece) {
      hasher.add(piece);
      return visit.piece(piece);
    };
    auto read = visit.begin_object(object).and_then([&] { return in.read(take); });
    if (read && hasher.end() != object.hash)
      return in.foreign("does not hold what its name says");
    if (read)
      read = visit.end_object();
    if (!read)
      return tl::unexpected(read.error());
    missing.erase(found);
  }
  if (!missing.empty())
    return fail(errc::corrupt,
                fmt::format("{} is cut short: it lacks {} of {} files, {} among them",
                            file.string(), missing.size(), manifest->files.size(),
                            missing.begin()->second->name));
  return manifest;
}

} // namespace tidemark
