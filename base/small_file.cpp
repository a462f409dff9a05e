#include "base/small_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tidemark {

namespace {

using state = small_file::state;

small_file read_open(int file, std::size_t max_bytes) {
  struct stat found {};
  if (::fstat(file, &found) != 0)
    return {state::unreadable, {}, 0};
  if (!S_ISREG(found.st_mode) || static_cast<std::size_t>(found.st_size) > max_bytes)
    return {state::unfit, {}, found.st_mode};
  std::string text(static_cast<std::size_t>(found.st_size), '\0');
  const auto got = ::read(file, text.data(), text.size());
  if (got < 0)
    return {state::unreadable, {}, found.st_mode};
  text.resize(static_cast<std::size_t>(got));
  return {state::read, std::move(text), found.st_mode};
}

} // namespace

small_file read_small_file(const std::string& path, std::size_t max_bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return {errno == ENOENT || errno == ENOTDIR ? state::missing : state::unreadable, {}, 0};
  auto out = read_open(file, max_bytes);
  const int why = errno;
  ::close(file);
  errno = why;
  return out;
}

expected<std::optional<std::string>> read_settings_file(const std::string& path) {
  constexpr std::size_t max_bytes = 1 << 20;
  auto file = read_small_file(path, max_bytes);
  switch (file.is) {
  case state::read: return std::optional{std::move(file.text)};
  case state::missing: return std::nullopt;
  case state::unfit:
    return fail(errc::invalid_argument, '"' + path + "\" is no file of at most 1 MiB");
  case state::unreadable: break;
  }
  return fail(errc::io, '"' + path + "\" cannot be read: " + std::strerror(errno));
}

} // namespace tidemark
