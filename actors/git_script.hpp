#pragma once

#include "actors/agent_runtime.hpp"
#include "actors/agent_timer.hpp"
#include "process/child.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tidemark {

/// One run of a shell script that calls git, under the guard, without any configuration of git but the
/// script's own. On the agents' I/O thread. Destroying it kills what it started.
class git_script {
public:
  struct job {
    std::string script;                 ///< for /bin/sh
    std::vector<std::string> arguments; ///< `$1` …
    std::string directory;              ///< where it runs
    std::chrono::milliseconds limit{0}; ///< it is killed after this
    std::size_t most_output = 16 << 20; ///< in bytes; the rest is not read
  };
  struct outcome {
    std::string output;
    bool truncated = false; ///< there was more
  };
  /// What a script ends with to say that there is nothing of what it was to find.
  static constexpr int nothing_found = 3;
  /// Called once, never from inside the constructor; may destroy the script. Errors:
  /// `deadline`, `not_found` after `nothing_found`, `unavailable` if there is no git, `io`
  /// with what the script said.
  using callback = std::function<void(expected<outcome>)>;

  git_script(agent_runtime& runtime, job what, callback done);
  git_script(const git_script&) = delete;
  git_script& operator=(const git_script&) = delete;

private:
  void on_exit(child_exit how);
  void finish(expected<outcome> result);

  const std::size_t most_output_;
  callback done_;
  outcome out_;
  std::string said_; ///< on stderr
  std::unique_ptr<child> process_;
  one_shot limit_;
  one_shot finish_;
  bool finished_ = false;
};

} // namespace tidemark
