#include "process/orphans.hpp"

#include "base/read_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <thread>

#include <dirent.h>
#include <unistd.h>

namespace tidemark {
namespace {

using namespace std::chrono_literals;

constexpr auto wait_limit = 5s;

/// A dead process that its parent has not waited for has an empty environment.
bool carries(int pid, std::string_view mark) {
  std::string environment{'\0'};
  environment += read_file("/proc/" + std::to_string(pid) + "/environ").value_or("");
  environment += '\0';
  std::string whole{'\0'};
  whole += mark;
  whole += '\0';
  return environment.find(whole) != std::string::npos;
}

bool in_session(int pid, int leader) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
  const auto name_end = stat.rfind(')');
  int session = 0;
  return name_end != std::string::npos
         && std::sscanf(stat.c_str() + name_end + 1, " %*c %*d %*d %d", &session) == 1
         && session == leader;
}

std::vector<int> processes_that(const std::function<bool(int)>& match) {
  std::vector<int> found;
  DIR* directory = ::opendir("/proc");
  if (!directory)
    return found;
  while (const dirent* item = ::readdir(directory)) {
    const std::string_view name{item->d_name};
    int pid = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    const bool is_pid = failed == std::errc{} && end == name.data() + name.size();
    if (is_pid && pid != ::getpid() && match(pid))
      found.push_back(pid);
  }
  ::closedir(directory);
  return found;
}

} // namespace

std::vector<int> kill_marked(std::string_view instance) {
  return kill_marked(instance_mark, instance, wait_limit);
}

std::vector<int> kill_marked(std::string_view name, std::string_view value,
                             std::chrono::milliseconds limit) {
  std::vector<int> killed;
  if (value.empty())
    return killed;
  const auto mark = std::string{name} + "=" + std::string{value};
  const auto end = std::chrono::steady_clock::now() + limit;
  // Again until none is found: one of them may have forked while we looked. Twice: between two
  // programs (execve) a process shows no environment for a moment.
  int quiet_rounds = 0;
  while (std::chrono::steady_clock::now() < end) {
    const auto found = processes_that([&mark](int pid) { return carries(pid, mark); });
    bool alive = false;
    for (const int pid : found) {
      if (::kill(pid, SIGKILL) != 0)
        continue; // gone, or not ours to kill
      alive = true;
      if (std::find(killed.begin(), killed.end(), pid) == killed.end())
        killed.push_back(pid);
    }
    quiet_rounds = alive ? 0 : quiet_rounds + 1;
    if (quiet_rounds == 2)
      break;
    std::this_thread::sleep_for(2ms);
  }
  return killed;
}

void kill_session(int leader) {
  for (const int pid : processes_that([leader](int each) { return in_session(each, leader); }))
    ::kill(pid, SIGKILL);
}

} // namespace tidemark
