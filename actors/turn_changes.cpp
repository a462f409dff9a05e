#include "actors/turn_changes.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace tidemark {

namespace {

const char* to_string(file_change::kind what) {
  switch (what) {
  case file_change::kind::created: return "created";
  case file_change::kind::changed: return "changed";
  case file_change::kind::deleted: return "deleted";
  }
  return "changed";
}

/// The next record; empty at the end.
std::string_view take_until(std::string_view& from, char end) {
  const auto at = std::min(from.find(end), from.size());
  const auto record = from.substr(0, at);
  from.remove_prefix(std::min(at + 1, from.size()));
  return record;
}

/// `-` stands for what has no lines.
std::optional<std::uint64_t> count_in(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
  return failed == std::errc{} && end == text.data() + text.size() ? std::optional{count}
                                                                   : std::nullopt;
}

/// `./sub` and `file` make `sub/file`.
std::string joined(std::string_view directory, std::string_view name) {
  if (directory == ".")
    return repair_utf8(name);
  directory.remove_prefix(directory.starts_with("./") ? 2 : 0);
  return repair_utf8(std::string{directory} + "/" + std::string{name});
}

json count_or_null(const std::optional<std::uint64_t>& count) {
  return count ? json(*count) : json(nullptr);
}

} // namespace

std::vector<file_change> parse_changes(std::string_view printed) {
  std::map<std::string, file_change> found;
  const auto change_of = [&](std::string path) -> file_change& {
    auto& change = found[path];
    change.path = std::move(path);
    return change;
  };
  std::string_view directory = ".";
  while (!printed.empty()) {
    auto record = take_until(printed, '\0');
    if (record.starts_with('>')) {
      directory = record.substr(1);
    } else if (record.starts_with(
                 ':')) { // modes, hashes and, last, what became of it; then the path
      const auto kind = record.back();
      change_of(joined(directory, take_until(printed, '\0'))).what =
        kind == 'A'   ? file_change::kind::created
        : kind == 'D' ? file_change::kind::deleted
                      : file_change::kind::changed;
    } else if (const auto added = take_until(record, '\t'); !record.empty()) {
      const auto removed = take_until(record, '\t');
      auto& change = change_of(joined(directory, record));
      change.added = count_in(added);
      change.removed = count_in(removed);
    }
  }
  std::vector<file_change> out;
  for (auto& [path, change] : found)
    out.push_back(std::move(change));
  return out;
}

json to_json(const std::vector<file_change>& changes, std::size_t most) {
  auto files = json::array();
  for (const auto& each : changes) {
    if (files.size() == most)
      break;
    auto file = json::object();
    file["path"] = each.path;
    file["change"] = to_string(each.what);
    file["added"] = count_or_null(each.added);
    file["removed"] = count_or_null(each.removed);
    files.push_back(std::move(file));
  }
  auto data = json::object();
  data["files"] = std::move(files);
  data["count"] = changes.size();
  return data;
}

} // namespace tidemark
