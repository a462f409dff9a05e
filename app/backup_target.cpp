#include "app/backup_target.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr std::array<std::string_view, 8> other_archives{".tar", ".tgz", ".gz",  ".zst",
                                                         ".xz",  ".bz2", ".zip", ".7z"};

} // namespace

expected<backup_target> backup_target_of(const std::filesystem::path& operand) {
  std::error_code ignored;
  if (operand.empty())
    return fail(errc::invalid_argument, "name a directory of backups, or a file *.tar.zst");
  if (std::filesystem::is_directory(operand, ignored)) {
    if (std::filesystem::exists(operand / "tidemark.format", ignored))
      return fail(errc::invalid_argument,
                  fmt::format("{} is the data directory of a log: backups stand elsewhere, best on "
                              "another disk",
                              operand.string()));
    return backup_target::directory;
  }
  if (operand.string().ends_with(".tar.zst"))
    return backup_target::archive;
  if (std::ranges::find(other_archives, operand.extension().string()) != other_archives.end())
    return fail(errc::invalid_argument,
                fmt::format("{} has the name of an archive, and the only ones here are *.tar.zst: "
                            "name it so, or a directory",
                            operand.string()));
  return backup_target::directory;
}

} // namespace tidemark
