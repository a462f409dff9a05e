#pragma once

#include <string>
#include <vector>

namespace tidemark {

/// What a shell command did.
struct demo_command_result {
  std::string output; ///< stdout and stderr as they came, without the last line feed
  int status = 0;     ///< exit code; 128 + n if it died by signal n
  bool interrupted = false;
};

/// Runs a shell command in the current directory in a session of its own, as the real CLI runs its
/// tools: a signal to the agent's process group does not reach it. Ends, with everything in its
/// process group, as soon as `interrupt_descriptor` becomes readable.
demo_command_result run_demo_command(const std::string& command, int interrupt_descriptor);

/// Starts processes that outlive the agent's turn: one that inherits stdout and stderr, one in a
/// session of its own without them, one that has also lost its parent. Returns their pids.
std::vector<int> leave_orphans(long seconds);

} // namespace tidemark
