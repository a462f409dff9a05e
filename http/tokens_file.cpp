#include "http/tokens_file.hpp"

#include "base/small_file.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>

namespace tidemark {

namespace {

constexpr std::size_t max_bytes = 1 << 20;

} // namespace

expected<std::vector<api_token>> read_tokens_file(const std::string& path) {
  const auto file = read_small_file(path, max_bytes);
  switch (file.is) {
  case small_file::state::missing:
    return fail(
      errc::not_found,
      fmt::format("there is no {} (http.tokens_file): `tidemark token create` makes it", path));
  case small_file::state::unreadable:
    return fail(errc::io,
                fmt::format("cannot read the tokens file {}: {}", path, std::strerror(errno)));
  case small_file::state::unfit:
    return fail(errc::invalid_argument,
                fmt::format("the tokens file {}: it is no file of at most 1 MiB", path));
  case small_file::state::read: break;
  }
  if ((file.mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(errc::invalid_argument,
                fmt::format("the tokens file {}: it can be written by others than its owner, who "
                            "could let themselves in: chmod go-w it",
                            path));
  return parse_tokens(file.text);
}

} // namespace tidemark
