#pragma once

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/json.hpp"
#include "storage/event.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

/// One file of a log's copy. Its content is known by its hash alone, so it is kept once however many
/// backups hold it.
struct backup_file {
  std::string name; ///< below the data directory: `000012.sst`, `blobs/ab/ab12…`
  std::uint64_t bytes = 0;
  digest hash{};

  friend bool operator==(const backup_file&, const backup_file&) = default;
};

/// All files of one copy of a log.
struct backup_manifest {
  std::string id; ///< of the copy on the server while it is kept there
  timestamp time; ///< when it was begun; to the millisecond
  epoch incarnation;
  position head; ///< every event up to here is in it
  std::vector<backup_file> files;

  [[nodiscard]] std::uint64_t bytes() const;
  friend bool operator==(const backup_manifest&, const backup_manifest&) = default;
};

json to_json(const backup_manifest& manifest);

/// Takes nothing that would lead out of a directory or that a restore could not write: no name twice, none that
/// is a file and a directory, none of more than 200 bytes. Errors: `invalid_argument`.
expected<backup_manifest> parse_backup_manifest(const json& value);

} // namespace tidemark
