#pragma once

#include "base/error.hpp"

#include <filesystem>

namespace tidemark {

/// What an operand of `tidemark backup` and `tidemark restore` names (decision 034).
enum class backup_target {
  directory, ///< of backups, there or to be made
  archive    ///< one backup in one file: `<name>.tar.zst`, unless there is a directory of that name
};

/// Errors: `invalid_argument`: no name, that of an archive of another kind (which would become a directory), or
/// a data directory, whose backups would be lost with it.
expected<backup_target> backup_target_of(const std::filesystem::path& operand);

} // namespace tidemark
