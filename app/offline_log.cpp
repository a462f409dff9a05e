#include "app/offline_log.hpp"

#include "storage/data_directory.hpp"

#include <fmt/format.h>

namespace tidemark {

expected<void> no_server_on(const std::filesystem::path& directory) {
  const auto holder = data_directory::holder(directory);
  if (!holder)
    return {};
  return fail(errc::locked,
              fmt::format("{} is in use by process {}: stop it, or ask it without --offline",
                          directory.string(), *holder));
}

expected<void> some_log_in(const std::filesystem::path& directory) {
  std::error_code code;
  if (!std::filesystem::is_directory(directory, code))
    return fail(
      errc::not_found,
      fmt::format("there is no directory {}: --data-dir names that of a log", directory.string()));
  for (const auto* file : {"tidemark.format", "CURRENT"})
    if (std::filesystem::exists(directory / file, code) || code)
      return {};
  return fail(errc::not_found, fmt::format("{} holds no log: --data-dir names the directory of one",
                                           directory.string()));
}

expected<std::unique_ptr<event_log>> open_offline(rocks_log_options options) {
  if (auto alone = no_server_on(options.directory); !alone)
    return tl::unexpected(alone.error());
  options.read_only = true;
  auto log = open_rocks_log(options);
  if (log)
    return log;
  // A server that was started meanwhile may be the cause.
  if (auto alone = no_server_on(options.directory); !alone)
    return tl::unexpected(alone.error());
  return log;
}

} // namespace tidemark
