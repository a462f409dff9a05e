#include "app/archive_library.hpp"
#include "app/backup_archive.hpp"
#include "base/json.hpp"
#include "storage/backup_repository.hpp"
#include "storage/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr int block_bytes = 1 << 20;
constexpr int no_padding = 1;
constexpr int owner_only = 0600;

tl::unexpected<error> cannot(std::string_view doing, const std::filesystem::path& path, int code) {
  const auto is_full = code == ENOSPC || code == EDQUOT;
  return fail(is_full ? errc::full : errc::io, fmt::format("cannot {} {}: {}", doing, path.string(),
                                                           std::generic_category().message(code)));
}

error there_already(const std::filesystem::path& file) {
  return {errc::conflict,
          fmt::format("{} is there already: --overwrite puts the new backup in its place",
                      file.string())};
}

/// Opens the unfinished file and locks it. One that a killed run has left is taken over.
expected<int> open_unfinished(const std::filesystem::path& part) {
  constexpr int most_attempts = 10;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const int fd =
      ::open(part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, owner_only);
    if (fd < 0)
      return cannot("create", part, errno);
    struct stat held {};
    struct stat named {};
    const bool is_locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
    const int code = errno;
    // Who had it may have given it its name since it was opened here.
    const bool is_it = ::fstat(fd, &held) == 0 && ::stat(part.c_str(), &named) == 0
                       && held.st_ino == named.st_ino && held.st_dev == named.st_dev;
    if (is_locked && is_it && S_ISREG(held.st_mode) && ::ftruncate(fd, 0) == 0)
      return fd;
    ::close(fd);
    if (!is_locked && code == EWOULDBLOCK)
      return fail(
        errc::conflict,
        fmt::format("another backup is being written to {}: run this again when it is done",
                    part.string()));
    if (is_it)
      return fail(errc::io,
                  fmt::format("cannot use {}: it is no file that can be locked", part.string()));
  }
  return fail(errc::conflict,
              fmt::format("{} is being made by others all the time", part.string()));
}

} // namespace

struct backup_archive_writer::state {
  std::filesystem::path file;
  std::filesystem::path part;
  bool overwrite = false;
  const archive_library* library = nullptr;
  archive* out = nullptr;
  int descriptor = -1;
  int failure = 0; // errno of a write
  std::uint64_t written = 0;
  timestamp time;
  std::optional<backup_file> object; // being written
  std::uint64_t object_bytes = 0;
  running_sha256 hasher;

  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    if (out)
      library->write_free(out);
    if (descriptor >= 0) {
      ::unlink(part.c_str());
      ::close(descriptor);
    }
  }

  static la_ssize_t on_bytes(archive* self, void* user, const void* bytes, std::size_t size) {
    auto& to = *static_cast<state*>(user);
    static_cast<void>(self);
    for (;;) {
      const auto done = ::write(to.descriptor, bytes, size);
      if (done >= 0) {
        to.written += static_cast<std::uint64_t>(done);
        return done;
      }
      if (errno != EINTR) {
        to.failure = errno;
        return -1;
      }
    }
  }

  tl::unexpected<error> failed() const {
    if (failure != 0)
      return cannot("write", part, failure);
    const char* why = library->error_string(out);
    return fail(errc::io,
                fmt::format("cannot write {}: {}", part.string(), why ? why : "libarchive fails"));
  }

  expected<void> begin_entry(const std::string& name, std::uint64_t bytes) {
    constexpr std::int64_t nanoseconds_a_second = 1'000'000'000;
    auto* entry = library->entry_new();
    library->entry_set_pathname(entry, name.c_str());
    library->entry_set_filetype(entry, AE_IFREG);
    library->entry_set_perm(entry, owner_only);
    library->entry_set_size(entry, static_cast<la_int64_t>(bytes));
    library->entry_set_mtime(entry, time.nanoseconds / nanoseconds_a_second, 0);
    const auto done = library->write_header(out, entry);
    library->entry_free(entry);
    if (done != ARCHIVE_OK)
      return failed();
    return {};
  }

  expected<void> put(std::string_view piece) {
    while (!piece.empty()) {
      const auto done = library->write_data(out, piece.data(), piece.size());
      if (done <= 0)
        return failed();
      piece.remove_prefix(static_cast<std::size_t>(done));
    }
    return {};
  }

  expected<void> give_name() {
    if (overwrite) {
      if (::rename(part.c_str(), file.c_str()) != 0)
        return cannot("rename", part, errno);
      return {};
    }
    if (::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) == 0)
      return {};
    if (errno == EEXIST)
      return tl::unexpected(there_already(file));
    if (errno != EINVAL && errno != ENOSYS)
      return cannot("rename", part, errno);
    // A file system that cannot promise it.
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored))
      return tl::unexpected(there_already(file));
    if (::rename(part.c_str(), file.c_str()) != 0)
      return cannot("rename", part, errno);
    return {};
  }
};

backup_archive_writer::backup_archive_writer(std::unique_ptr<state> made)
  : state_(std::move(made)) {}
backup_archive_writer::backup_archive_writer(backup_archive_writer&&) noexcept = default;
backup_archive_writer::~backup_archive_writer() = default;

expected<backup_archive_writer> backup_archive_writer::create(const std::filesystem::path& file,
                                                              bool overwrite) {
  const auto library = archive_library::instance();
  if (!library)
    return tl::unexpected(library.error());
  std::error_code ignored;
  if (!overwrite && std::filesystem::exists(file, ignored))
    return tl::unexpected(there_already(file));
  if (file.has_parent_path())
    if (auto made = files::make_directory(file.parent_path()); !made)
      return tl::unexpected(made.error());
  auto made = std::make_unique<state>();
  made->file = file;
  made->part = file;
  made->part += ".part";
  made->overwrite = overwrite;
  made->library = *library;
  auto opened = open_unfinished(made->part);
  if (!opened)
    return tl::unexpected(opened.error());
  made->descriptor = *opened;
  made->out = (*library)->write_new();
  auto* out = made->out;
  const bool is_ready =
    out != nullptr && (*library)->write_set_format_pax_restricted(out) == ARCHIVE_OK
    && (*library)->write_add_filter_zstd(out) == ARCHIVE_OK
    && (*library)->write_set_bytes_per_block(out, block_bytes) == ARCHIVE_OK
    && (*library)->write_set_bytes_in_last_block(out, no_padding) == ARCHIVE_OK
    && (*library)->write_open(out, made.get(), nullptr, &state::on_bytes, nullptr) == ARCHIVE_OK;
  if (!is_ready)
    return fail(errc::unavailable, "libarchive cannot write tar archives in zstd here");
  return backup_archive_writer{std::move(made)};
}

expected<void> backup_archive_writer::begin(const backup_manifest& manifest) {
  const auto text = dump_json(to_json(manifest)) + "\n";
  if (text.size() > most_archived_manifest_bytes)
    return fail(errc::too_large,
                fmt::format("the log has {} files, too many for one archive: back it up into a "
                            "directory",
                            manifest.files.size()));
  state_->time = manifest.time;
  if (auto begun =
        state_->begin_entry("backups/" + backup_name(manifest.time) + ".json", text.size());
      !begun)
    return begun;
  return state_->put(text);
}

expected<void> backup_archive_writer::begin_object(const backup_file& file) {
  state_->object = file;
  state_->object_bytes = 0;
  return state_->begin_entry("objects/" + to_hex(file.hash), file.bytes);
}

expected<void> backup_archive_writer::write(std::string_view piece) {
  state_->object_bytes += piece.size();
  if (state_->object_bytes > state_->object->bytes)
    return fail(errc::corrupt,
                fmt::format("there is more of {} than was said", state_->object->name));
  state_->hasher.add(piece);
  return state_->put(piece);
}

expected<void> backup_archive_writer::end_object() {
  const auto hash = state_->hasher.end();
  if (state_->object_bytes != state_->object->bytes || hash != state_->object->hash)
    return fail(errc::corrupt,
                fmt::format("what was read for {} is not what it must be", state_->object->name));
  if (state_->library->write_finish_entry(state_->out) != ARCHIVE_OK)
    return state_->failed();
  return {};
}

expected<void> backup_archive_writer::finish() {
  auto& s = *state_;
  if (s.library->write_close(s.out) != ARCHIVE_OK)
    return s.failed();
  if (::fsync(s.descriptor) != 0)
    return cannot("sync", s.part, errno);
  if (auto named = s.give_name(); !named)
    return named;
  ::close(std::exchange(s.descriptor, -1));
  return files::sync_directory(s.file.has_parent_path() ? s.file.parent_path() : ".");
}

std::uint64_t backup_archive_writer::bytes() const {
  return state_->written;
}

} // namespace tidemark
