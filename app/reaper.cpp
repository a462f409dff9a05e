#include "app/reaper.hpp"

#include "base/read_file.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace tidemark {
namespace {

struct process_entry {
  std::string name;
  char state = '?';
  int parent = 0;
};

/// /proc/<pid>/stat: `pid (name) state parent …`. The name may hold blanks and brackets.
std::optional<process_entry> read_entry(const std::filesystem::path& directory) {
  const auto line = read_file(directory / "stat").value_or(""); // it may be gone by now
  const auto open = line.find('(');
  const auto close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close + 4 > line.size())
    return std::nullopt;
  return process_entry{line.substr(open + 1, close - open - 1), line[close + 2],
                       std::atoi(line.c_str() + close + 4)};
}

bool is_pid(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
}

} // namespace

std::size_t reap_orphans(const std::vector<std::string_view>& own) {
  std::size_t reaped = 0;
  std::error_code failed;
  for (auto it = std::filesystem::directory_iterator{"/proc", failed};
       !failed && it != std::filesystem::directory_iterator{}; it.increment(failed)) {
    const auto name = it->path().filename().string();
    if (!is_pid(name))
      continue;
    const auto entry = read_entry(it->path());
    if (!entry || entry->state != 'Z' || entry->parent != ::getpid())
      continue;
    const auto is_own = [&](std::string_view mine) { return entry->name == mine.substr(0, 15); };
    if (std::none_of(own.begin(), own.end(), is_own)
        && ::waitpid(std::stoi(name), nullptr, WNOHANG) > 0)
      ++reaped;
  }
  return reaped;
}

} // namespace tidemark
