#include "storage/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include <fmt/format.h>

namespace tidemark::files {

namespace {

tl::unexpected<error> failed(std::string_view doing, const std::filesystem::path& path, int code) {
  const auto is_full = code == ENOSPC || code == EDQUOT;
  return fail(is_full ? errc::full : errc::io, fmt::format("cannot {} {}: {}", doing, path.string(),
                                                           std::generic_category().message(code)));
}

class descriptor {
public:
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

private:
  int fd_;
};

int write_fully(int fd, std::string_view content) {
  while (!content.empty()) {
    const auto written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return errno;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Reads until `size` bytes are there or the file ends; -1 on an error.
ssize_t read_fully(int fd, char* into, std::size_t size) {
  std::size_t have = 0;
  while (have < size) {
    const auto got = ::read(fd, into + have, size - have);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return -1;
    if (got == 0)
      break;
    have += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(have);
}

/// In the place of whatever an earlier write, or somebody else, left there: a pipe would be waited
/// for, a link followed.
expected<void> write_and_sync(const std::filesystem::path& file, std::string_view content) {
  ::unlink(file.c_str());
  const descriptor fd{::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (fd.get() < 0)
    return failed("create", file, errno);
  if (const auto code = write_fully(fd.get(), content))
    return failed("write", file, code);
  if (::fsync(fd.get()) != 0)
    return failed("sync", file, errno);
  return {};
}

} // namespace

expected<void> make_directory(const std::filesystem::path& directory) {
  std::error_code code;
  if (std::filesystem::is_directory(directory, code))
    return {};
  if (directory.has_parent_path() && directory.parent_path() != directory)
    if (auto parent = make_directory(directory.parent_path()); !parent)
      return parent;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return failed("create directory", directory, errno);
  if (!std::filesystem::is_directory(directory, code))
    return failed("create directory", directory, ENOTDIR);
  return {};
}

expected<void> write_durably(const std::filesystem::path& file, std::string_view content) {
  auto temporary = file;
  temporary += ".tmp";
  auto written = write_and_sync(temporary, content);
  if (written && ::rename(temporary.c_str(), file.c_str()) != 0)
    written = failed("rename", temporary, errno);
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_directory(file.has_parent_path() ? file.parent_path() : ".");
}

expected<void> sync_directory(const std::filesystem::path& directory) {
  const descriptor fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (fd.get() < 0)
    return failed("open directory", directory, errno);
  if (::fsync(fd.get()) != 0)
    return failed("sync directory", directory, errno);
  return {};
}

expected<std::optional<std::string>> read_whole(const std::filesystem::path& file,
                                                std::size_t most_bytes) {
  std::error_code missing;
  if (!std::filesystem::exists(file, missing) && !missing)
    return std::nullopt;
  constexpr std::size_t chunk = 256 << 10;
  std::string content;
  const auto take = [&](std::string_view piece) {
    content += piece;
    return content.size() <= most_bytes;
  };
  if (auto read = read_pieces(file, chunk, take); !read)
    return tl::unexpected{read.error()};
  if (content.size() > most_bytes)
    return fail(errc::corrupt, fmt::format("{} is larger than it can be", file.string()));
  return content;
}

expected<void> read_pieces(const std::filesystem::path& file, std::size_t piece_bytes,
                           const piece_visitor& visit) {
  const descriptor fd{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (fd.get() < 0) {
    if (errno == ENOENT)
      return {};
    return failed("open", file, errno);
  }
  struct stat found {};
  if (::fstat(fd.get(), &found) != 0)
    return failed("look at", file, errno);
  if (!S_ISREG(found.st_mode)) // an agent of the same user can put a pipe there
    return fail(errc::corrupt, fmt::format("{} is no regular file", file.string()));
  const auto piece = std::make_unique_for_overwrite<char[]>(piece_bytes);
  for (;;) {
    const auto got = read_fully(fd.get(), piece.get(), piece_bytes);
    if (got < 0)
      return failed("read", file, errno);
    const auto size = static_cast<std::size_t>(got);
    if (size == 0 || !visit(std::string_view{piece.get(), size}) || size < piece_bytes)
      return {};
  }
}

expected<space> space_of(const std::filesystem::path& path) {
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0)
    return failed("ask for the free space of", path, errno);
  return space{static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize,
               static_cast<std::uint64_t>(facts.f_blocks) * facts.f_frsize,
               static_cast<std::uint64_t>(facts.f_favail),
               static_cast<std::uint64_t>(facts.f_files)};
}

} // namespace tidemark::files
