#include "storage/data_directory.hpp"

#include "base/logging.hpp"
#include "storage/files.hpp"
#include "storage/wal_check.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

constexpr std::string_view lock_name = "tidemark.lock";
constexpr std::string_view format_name = "tidemark.format";
constexpr std::size_t most_format_bytes = 4096;
constexpr std::string_view creating = "creating";
constexpr std::string_view complete = "complete";
constexpr std::string_view committed = "committed"; // older builds read it as complete
constexpr std::string_view restoring = "restoring";
constexpr std::string_view restored = "restored";

std::string format_line(std::string_view state) {
  return fmt::format("tidemark log {} {}\n", data_directory::format_version, state);
}

struct format_fact {
  int version = 0;
  bool complete = false;
  bool committed = false;
  bool restoring = false;
  bool restored = false;
};

std::optional<format_fact> parse_format(std::string_view text) {
  constexpr std::string_view start = "tidemark log ";
  if (!text.starts_with(start))
    return std::nullopt;
  text.remove_prefix(start.size());
  format_fact fact;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), fact.version);
  if (code != std::errc{})
    return std::nullopt;
  const auto state = text.substr(static_cast<std::size_t>(end - text.data()));
  fact.complete = state.find(creating) == std::string_view::npos;
  fact.committed = state.find(committed) != std::string_view::npos;
  fact.restoring = state.find(restoring) != std::string_view::npos;
  fact.restored = state.find(restored) != std::string_view::npos;
  return fact;
}

/// What may stand in a directory that no log was ever created in: ours, what a server keeps beside
/// its log, and what an operator puts there before the first start.
bool is_harmless(std::string_view name) {
  constexpr std::array<std::string_view, 8> harmless{
    lock_name, "tidemark.format.tmp", "instance",      "instance.tmp",
    "agents",  "workspaces",          "settings.json", "lost+found"};
  return std::find(harmless.begin(), harmless.end(), name) != harmless.end();
}

expected<std::optional<std::string>> first_foreign(const std::filesystem::path& directory) {
  std::error_code code;
  for (std::filesystem::directory_iterator entry{directory, code}, end; !code && entry != end;
       entry.increment(code))
    if (auto name = entry->path().filename().string(); !is_harmless(name))
      return name;
  if (code)
    return fail(errc::io, fmt::format("cannot list {}: {}", directory.string(), code.message()));
  return std::nullopt;
}

/// The process that a lock file names; empty if none.
std::string holder_in(int lock) {
  std::array<char, 24> text{};
  const auto got = ::pread(lock, text.data(), text.size(), 0);
  auto holder = std::string{text.data(), static_cast<std::size_t>(got > 0 ? got : 0)};
  holder.resize(std::min(holder.find_first_not_of("0123456789"), holder.size()));
  return holder;
}

/// One that was there before, made by hand or by a volume, is often open to all, and the log is what
/// everybody has said.
void close_to_others(const std::filesystem::path& directory) {
  struct stat found {};
  constexpr mode_t others = S_IRWXG | S_IRWXO;
  if (::stat(directory.c_str(), &found) != 0 || (found.st_mode & others) == 0)
    return;
  if (::chmod(directory.c_str(), found.st_mode & ~others & 07777) == 0)
    logging::info("storage", "{} was open to other users and is for its owner only now",
                  directory.string());
  else
    logging::warning("storage", "other users may look into {} ({}): chmod go-rwx it",
                     directory.string(), std::strerror(errno));
}

bool has_wal(const std::filesystem::path& directory) {
  std::error_code code;
  const std::filesystem::directory_iterator entries{directory, code};
  return std::any_of(begin(entries), end(entries),
                     [](const auto& entry) { return entry.path().extension() == ".log"; });
}

} // namespace

expected<data_directory> data_directory::open(std::filesystem::path path, bool read_only,
                                              bool accept_wal_loss) {
  data_directory directory{std::move(path)};
  std::error_code code;
  if (read_only) {
    if (!std::filesystem::is_directory(directory.path_, code))
      return fail(errc::not_found,
                  fmt::format("there is no log directory {}", directory.path_.string()));
  } else {
    if (auto made = files::make_directory(directory.path_); !made)
      return tl::unexpected(made.error());
    if (auto locked = directory.lock(); !locked)
      return tl::unexpected(locked.error());
  }
  if (auto inspected = directory.inspect(); !inspected)
    return tl::unexpected(inspected.error());
  if (directory.is_new_) {
    if (read_only)
      return fail(errc::not_found, fmt::format("{} holds no log yet", directory.path_.string()));
    if (auto begun = files::write_durably(directory.path_ / format_name, format_line(creating));
        !begun)
      return tl::unexpected(begun.error());
  } else if (auto there = directory.require_files(accept_wal_loss); !there) {
    return tl::unexpected(there.error());
  }
  if (!read_only)
    close_to_others(directory.path_);
  return directory;
}

std::optional<std::string> data_directory::holder(const std::filesystem::path& path) {
  const int lock = ::open((path / lock_name).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (lock < 0)
    return std::nullopt;
  const bool held = ::flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  auto found = held ? std::optional{holder_in(lock)} : std::nullopt;
  ::close(lock);
  return found;
}

data_directory::data_directory(data_directory&& other) noexcept
  : path_(std::move(other.path_)),
    lock_(std::exchange(other.lock_, -1)),
    is_new_(other.is_new_),
    has_commits_(other.has_commits_),
    is_restored_(other.is_restored_) {}

data_directory::~data_directory() {
  if (lock_ >= 0)
    ::close(lock_);
}

expected<void> data_directory::mark_complete(const std::filesystem::path& path) {
  return files::write_durably(path / format_name, format_line(complete));
}

expected<void> data_directory::mark_committed(const std::filesystem::path& path) {
  return files::write_durably(path / format_name, format_line(committed));
}

expected<void> data_directory::mark_restoring(const std::filesystem::path& path) {
  return files::write_durably(path / format_name, format_line(restoring));
}

expected<void> data_directory::mark_restored(const std::filesystem::path& path, bool has_commits) {
  return files::write_durably(
    path / format_name,
    format_line(fmt::format("{} {}", has_commits ? committed : complete, restored)));
}

bool data_directory::is_in_place() const {
  struct stat held {};
  struct stat found {};
  if (lock_ < 0 || ::fstat(lock_, &held) != 0)
    return true;
  if (::stat((path_ / lock_name).c_str(), &found) != 0)
    return errno != ENOENT && errno != ENOTDIR; // other failures say nothing about the place
  return held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

// flock, not fcntl: it also keeps a second opener in this process out, and the kernel drops it when
// the holder dies, so no crash ever needs a manual removal.
expected<void> data_directory::lock() {
  const auto file = path_ / lock_name;
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0)
    return fail(errc::io, fmt::format("cannot open {}: {}", file.string(),
                                      std::generic_category().message(errno)));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const auto holder = holder_in(lock_);
    return fail(
      errc::locked,
      fmt::format("{} is in use by {}: stop it first, or give this server a directory of its own",
                  path_.string(), holder.empty() ? "another process" : "process " + holder));
  }
  // A full disk must not keep a log from being opened: then its holder is just not named.
  const auto pid = fmt::format("{}\n", ::getpid());
  [[maybe_unused]] const auto named =
    ::ftruncate(lock_, 0) == 0 && ::pwrite(lock_, pid.data(), pid.size(), 0) > 0;
  return {};
}

expected<void> data_directory::inspect() {
  auto text = files::read_whole(path_ / format_name, most_format_bytes);
  if (!text)
    return tl::unexpected(text.error());
  if (!*text) {
    auto foreign = first_foreign(path_);
    if (!foreign)
      return tl::unexpected(foreign.error());
    if (*foreign)
      return fail(
        errc::corrupt,
        fmt::format(
          "{} has content (\"{}\") but no {}: it is not a Tidemark log, or lost that file. "
          "Choose an empty directory, or restore this one from a backup",
          path_.string(), **foreign, format_name));
    is_new_ = true;
    return {};
  }
  const auto fact = parse_format(**text);
  if (!fact)
    return fail(errc::corrupt, fmt::format("{} is not readable: restore it from a backup",
                                           (path_ / format_name).string()));
  if (fact->version > format_version)
    return fail(
      errc::newer_format,
      fmt::format(
        "{} has format {}, this build reads up to {}: start the newer Tidemark that wrote it",
        path_.string(), fact->version, format_version));
  if (fact->restoring)
    return fail(
      errc::corrupt,
      fmt::format("a restore into {} was begun and not finished: remove what is in it and "
                  "run `tidemark restore` again",
                  path_.string()));
  is_new_ = !fact->complete;
  has_commits_ = fact->committed;
  is_restored_ = fact->restored;
  return {};
}

expected<void> data_directory::require_files(bool accept_wal_loss) const {
  std::error_code code;
  if (!std::filesystem::exists(path_ / "CURRENT", code))
    return fail(
      errc::corrupt,
      fmt::format(
        "the log in {} has lost its file CURRENT. Restore the directory from a backup, or write "
        "the name of its newest MANIFEST file and a line feed into CURRENT",
        path_.string()));
  // The copy that a backup is made of was flushed: it may need no write-ahead log.
  if (!accept_wal_loss && !is_restored_ && !has_wal(path_))
    return fail(
      errc::corrupt,
      fmt::format(
        "the log in {} has lost its write-ahead log (*.log). Restore it from a backup, or "
        "start once with {} to go on with what was flushed before",
        path_.string(), accept_wal_loss_flag));
  return {};
}

} // namespace tidemark
