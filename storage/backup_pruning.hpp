#pragma once

#include "storage/backup_repository.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tidemark {

/// Which backups stay: those that any rule keeps. Without a rule, all.
struct keep_rules {
  std::optional<std::size_t> last;                 ///< the newest so many; at least 1
  std::optional<std::chrono::milliseconds> within; ///< of the newest backup, which so always stays
};

/// A backup by its name and when it was begun.
struct dated_backup {
  std::string name;
  timestamp time;
};

/// The names of those that no rule keeps. `all` is in the order of time. Pure.
std::vector<std::string> not_kept(const std::vector<dated_backup>& all, const keep_rules& keep);

struct pruned {
  std::vector<std::string> backups;
  std::size_t objects = 0;
  std::uint64_t bytes = 0; ///< of the objects
};

/// Removes the backups that no rule keeps, then every object that none of the rest names, and what runs
/// that were killed have left. Interrupted anywhere it leaves whole backups. The caller holds
/// `backup_lock::use::remove`. Nothing is removed while a manifest cannot be read, because nobody knows
/// what it needs. Errors: those of backup_repository::read, `io`.
expected<pruned> prune(const backup_repository& from, const keep_rules& keep);

} // namespace tidemark
