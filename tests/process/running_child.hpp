#pragma once

#include "base/read_file.hpp"
#include "process/child.hpp"

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace tidemark::testing {

using namespace std::chrono_literals;

/// The guard stands beside the test program.
inline std::string guard_path() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tidemark-guard")
    .string();
}

/// Polls `holds` until it is true; false after `limit`.
inline bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds limit = 10s) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

/// Nothing if it cannot be read, as the files of a process that ends meanwhile.
inline std::string contents(const std::filesystem::path& path) {
  return read_file(path).value_or("");
}

/// True while the process runs; an unreaped dead one does not.
inline bool alive(int pid) {
  const auto stat = contents("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.compare(name_end, 3, ") Z") != 0;
}

inline std::vector<int> pids_in(const std::filesystem::path& path) {
  std::istringstream in{contents(path)};
  return {std::istream_iterator<int>{in}, {}};
}

inline bool all_gone(const std::vector<int>& pids) {
  for (const int pid : pids)
    if (alive(pid))
      return false;
  return true;
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"})
    ++count;
  return count;
}

/// A directory of the test's own; removed at the end.
class scratch {
public:
  scratch() {
    std::string name =
      (std::filesystem::temp_directory_path() / "tidemark-process-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~scratch() { std::filesystem::remove_all(path_); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }

private:
  std::filesystem::path path_;
};

inline child_options run(std::vector<std::string> argv) {
  child_options options;
  options.argv = std::move(argv);
  options.environment = {{"PATH", "/usr/bin:/bin"}};
  options.guard = guard_path();
  return options;
}

inline child_options shell(const std::string& script) {
  return run({"sh", "-c", script});
}

/// A child with what it said; driven by the test's thread.
struct running_child {
  boost::asio::io_context io;
  std::string out;
  std::string err;
  std::optional<child_exit> exit;
  int exits = 0;
  expected<std::unique_ptr<child>> process = fail(errc::internal, "not started");

  explicit running_child(child_options options) {
    child::callbacks events;
    events.on_stdout = [this](std::string_view bytes) { out += bytes; };
    events.on_stderr = [this](std::string_view bytes) { err += bytes; };
    events.on_exit = [this](child_exit how) {
      exit = how;
      ++exits;
    };
    process = child::spawn(io, std::move(options), std::move(events));
  }

  child& operator*() { return **process; }
  child* operator->() { return process->get(); }

  /// Runs the loop until `holds`; false after `limit`.
  bool until(const std::function<bool()>& holds, std::chrono::milliseconds limit = 15s) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end)
        return false;
      io.restart();
      io.run_one_for(20ms);
    }
    return true;
  }
  bool until_exit(std::chrono::milliseconds limit = 15s) {
    return until([this] { return exit.has_value(); }, limit);
  }
};

} // namespace tidemark::testing
