#include "base/read_file.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace tidemark {

std::optional<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return std::nullopt;
  std::string content;
  std::array<char, 16 << 10> piece;
  ssize_t got = 0;
  do {
    got = ::read(fd, piece.data(), piece.size());
    if (got > 0)
      content.append(piece.data(), static_cast<std::size_t>(got));
  } while (got > 0 || (got < 0 && errno == EINTR));
  const int failed = got < 0 ? errno : 0;
  ::close(fd);
  if (failed == 0)
    return content;
  errno = failed;
  return std::nullopt;
}

} // namespace tidemark
