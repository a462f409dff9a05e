#include "storage/blob_store.hpp"

#include "storage/files.hpp"
#include "storage/hash_chain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tidemark {

namespace {

std::uint64_t size_of_tree(const std::filesystem::path& directory) {
  std::uint64_t sum = 0;
  std::error_code code;
  for (std::filesystem::recursive_directory_iterator entry{directory, code}, end;
       !code && entry != end; entry.increment(code)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored))
      sum += entry->file_size(ignored);
  }
  return sum;
}

} // namespace

blob_store::blob_store(std::filesystem::path directory)
  : directory_(std::move(directory)),
    bytes_(size_of_tree(directory_)) {}

std::filesystem::path blob_store::path_of(const digest& hash) const {
  const auto name = to_hex(hash);
  return directory_ / name.substr(0, 2) / name;
}

expected<records::blob_ref> blob_store::put(std::string_view content) {
  sha256_hasher hasher;
  const records::blob_ref ref{hasher.of(content), content.size()};
  const auto file = path_of(ref.hash);
  std::error_code code;
  const auto is_new_folder = !std::filesystem::exists(file.parent_path(), code);
  if (auto made = files::make_directory(file.parent_path()); !made)
    return tl::unexpected(made.error());
  if (is_new_folder) {
    for (const auto& parent : {directory_, directory_.parent_path()})
      if (auto synced = files::sync_directory(parent); !synced)
        return tl::unexpected(synced.error());
  }
  // A file under its final name was synced before it got it; only the name may not be durable yet.
  // But a disk may have damaged it since, and the new event must not inherit that.
  if (std::filesystem::exists(file, code) && get(ref)) {
    if (auto synced = files::sync_directory(file.parent_path()); !synced)
      return tl::unexpected(synced.error());
    return ref;
  }
  if (auto written = files::write_durably(file, content); !written)
    return tl::unexpected(written.error());
  bytes_ += content.size();
  return ref;
}

void blob_store::remove(const records::blob_ref& ref) {
  std::error_code code;
  if (std::filesystem::remove(path_of(ref.hash), code))
    bytes_ -= std::min<std::uint64_t>(bytes_, ref.size);
}

expected<std::string> blob_store::get(const records::blob_ref& ref) const {
  const auto file = path_of(ref.hash);
  auto content = files::read_whole(file, ref.size);
  if (!content)
    return tl::unexpected(content.error());
  if (!*content)
    return fail(errc::corrupt, fmt::format("{} is missing", file.string()));
  sha256_hasher hasher;
  if ((*content)->size() != ref.size || hasher.of(**content) != ref.hash)
    return fail(errc::corrupt, fmt::format("{} does not hold what its name says", file.string()));
  return std::move(**content);
}

} // namespace tidemark
