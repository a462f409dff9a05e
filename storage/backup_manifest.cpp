#include "storage/backup_manifest.hpp"

#include "storage/hash_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tidemark {

namespace {

constexpr int manifest_version = 1;
constexpr std::size_t most_name_bytes =
  200; // our own have some 80; with `.part` any file system takes them

bool is_plain(std::string_view part) {
  return !part.empty() && part.front() != '.' && std::ranges::all_of(part, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'
           || c == '_' || c == '.';
  });
}

/// A relative path without a way up or a hidden file. What the log itself keeps beside its database is
/// written by the restore, and `.part` is what it calls a file that is not complete.
bool is_safe(std::string_view name) {
  if (name.starts_with("tidemark.") || name.ends_with(".part") || name.size() > most_name_bytes)
    return false;
  for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/')) {
    if (!is_plain(name.substr(0, slash)))
      return false;
    name.remove_prefix(slash + 1);
  }
  return is_plain(name);
}

/// The name of a directory that one of the names stands in and another is, if there is one.
std::optional<std::string> file_and_directory(const std::set<std::string>& names) {
  for (const auto& name : names)
    for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1))
      if (auto parent = name.substr(0, slash); names.contains(parent))
        return parent;
  return std::nullopt;
}

tl::unexpected<error> no_manifest(std::string_view what) {
  return fail(errc::invalid_argument, fmt::format("this is no backup's manifest: {}", what));
}

} // namespace

std::uint64_t backup_manifest::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& file : files)
    sum += file.bytes;
  return sum;
}

json to_json(const backup_manifest& manifest) {
  auto body = json::object();
  body["version"] = manifest_version;
  body["id"] = manifest.id;
  body["time"] = iso8601(manifest.time);
  body["log_epoch"] = manifest.incarnation.value;
  body["position"] = manifest.head.value;
  body["files"] = json::array();
  for (const auto& file : manifest.files) {
    auto one = json::object();
    one["name"] = file.name;
    one["bytes"] = file.bytes;
    one["sha256"] = to_hex(file.hash);
    body["files"].push_back(std::move(one));
  }
  return body;
}

expected<backup_manifest> parse_backup_manifest(const json& value) {
  if (!value.is_object() || int_or(value, "version", 0) != manifest_version)
    return no_manifest("its version is missing or unknown");
  const auto time = parse_iso8601(string_or(value, "time"));
  const auto incarnation = int_or(value, "log_epoch", 0);
  const auto head = int_or(value, "position", -1);
  if (!time || incarnation < 1 || head < 0)
    return no_manifest("it lacks time, log_epoch or position");
  backup_manifest manifest{string_or(value, "id"),
                           *time,
                           epoch{static_cast<std::uint64_t>(incarnation)},
                           position{static_cast<std::uint64_t>(head)},
                           {}};
  std::set<std::string> names;
  std::map<digest, std::uint64_t> sizes;
  for (const auto& one : array_at(value, "files")) {
    const auto hash = digest_from_hex(string_or(one, "sha256"));
    const auto bytes = int_or(one, "bytes", -1);
    auto name = string_or(one, "name");
    if (!hash || bytes < 0 || !is_safe(name))
      return no_manifest(fmt::format("it has a file \"{}\"", name));
    if (!names.insert(name).second)
      return no_manifest(fmt::format("it has the file \"{}\" twice", name));
    const auto size = static_cast<std::uint64_t>(bytes);
    if (sizes.emplace(*hash, size).first->second != size)
      return no_manifest(fmt::format("it gives the content of \"{}\" two sizes", name));
    manifest.files.push_back({std::move(name), size, *hash});
  }
  if (const auto both = file_and_directory(names))
    return no_manifest(fmt::format("its \"{}\" is a file and a directory", *both));
  if (!names.contains("CURRENT"))
    return no_manifest("it has no file CURRENT");
  return manifest;
}

} // namespace tidemark
