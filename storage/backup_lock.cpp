#include "storage/backup_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace tidemark {

namespace {

// Two locks in one file, by byte: who writes has the first; who needs the objects to stay shares the
// second, and who removes has both.
constexpr off_t writing = 0;
constexpr off_t staying = 1;

/// Of the open file, not of the process: a second opener in this process is kept out too.
bool lock_byte(int descriptor, off_t at, short kind) {
  struct flock range {};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = at;
  range.l_len = 1;
  return ::fcntl(descriptor, F_OFD_SETLK, &range) == 0;
}

/// The process that last wrote itself down.
std::string who_holds(int descriptor) {
  std::array<char, 16> text{};
  const auto got = ::pread(descriptor, text.data(), text.size(), 0);
  int pid = 0;
  if (got <= 0 || std::from_chars(text.data(), text.data() + got, pid).ec != std::errc{})
    return "another process";
  return fmt::format("process {}", pid);
}

bool lock_for(int descriptor, backup_lock::use how) {
  switch (how) {
  case backup_lock::use::add: return lock_byte(descriptor, writing, F_WRLCK);
  case backup_lock::use::read: return lock_byte(descriptor, staying, F_RDLCK);
  case backup_lock::use::remove:
    return lock_byte(descriptor, writing, F_WRLCK) && lock_byte(descriptor, staying, F_WRLCK);
  }
  return false;
}

} // namespace

expected<backup_lock> backup_lock::take(const std::filesystem::path& directory, use how) {
  const auto file = directory / "lock";
  const auto mode = how == use::read ? O_RDONLY : O_RDWR | O_CREAT;
  backup_lock lock{::open(file.c_str(), mode | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)};
  if (lock.descriptor_ < 0 && how == use::read && (errno == ENOENT || errno == EACCES))
    return lock;
  if (lock.descriptor_ < 0)
    return fail(
      errno == ENOSPC || errno == EDQUOT ? errc::full : errc::io,
      fmt::format("cannot open {}: {}", file.string(), std::generic_category().message(errno)));
  if (!lock_for(lock.descriptor_, how)) {
    if (errno != EAGAIN && errno != EACCES)
      return fail(errc::io, fmt::format("cannot lock {}: {}", file.string(),
                                        std::generic_category().message(errno)));
    const auto who = who_holds(lock.descriptor_);
    if (how == use::remove)
      return fail(
        errc::conflict,
        fmt::format("{} is in use, by a backup, a restore or a verification (last by {}): "
                    "prune it when they are done",
                    directory.string(), who));
    return fail(errc::conflict,
                fmt::format("{} is in use by {}, which {}: run this again when it "
                            "is done",
                            directory.string(), who,
                            how == use::add ? "backs up into it or prunes it" : "prunes it"));
  }
  if (how != use::read) { // a full disk must not keep it from being locked: then nobody is named
    const auto pid = fmt::format("{}\n", ::getpid());
    [[maybe_unused]] const auto named =
      ::ftruncate(lock.descriptor_, 0) == 0
      && ::pwrite(lock.descriptor_, pid.data(), pid.size(), 0) > 0;
  }
  return lock;
}

backup_lock::backup_lock(backup_lock&& other) noexcept
  : descriptor_(std::exchange(other.descriptor_, -1)) {}

backup_lock::~backup_lock() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

} // namespace tidemark
