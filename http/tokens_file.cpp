#include "http/tokens_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tidemark {

namespace {

constexpr off_t max_bytes = 1 << 20;

/// The content of an open file that fits; `why` is what is wrong with one that does not.
std::string read_open(int file, std::string& why) {
  struct stat found {};
  if (::fstat(file, &found) != 0) {
    why = std::strerror(errno);
  } else if (!S_ISREG(found.st_mode) || found.st_size > max_bytes) {
    why = "it is no file of at most 1 MiB";
  } else if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    why = "it can be written by others than its owner, who could let themselves in: chmod go-w it";
  } else {
    std::string text(static_cast<std::size_t>(found.st_size), '\0');
    const auto got = ::read(file, text.data(), text.size());
    if (got >= 0) {
      text.resize(static_cast<std::size_t>(got));
      return text;
    }
    why = std::strerror(errno);
  }
  return {};
}

} // namespace

expected<std::vector<api_token>> read_tokens_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0 && errno == ENOENT)
    return fail(
      errc::not_found,
      fmt::format("there is no {} (http.tokens_file): `tidemark token create` makes it", path));
  if (file < 0)
    return fail(errc::io,
                fmt::format("cannot read the tokens file {}: {}", path, std::strerror(errno)));
  std::string why;
  const auto text = read_open(file, why);
  ::close(file);
  if (!why.empty())
    return fail(errc::invalid_argument, fmt::format("the tokens file {}: {}", path, why));
  return parse_tokens(text);
}

} // namespace tidemark
