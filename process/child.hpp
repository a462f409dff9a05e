#pragma once

#include "base/error.hpp"
#include "process/terminal.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Asio stays out of this header: it costs seconds in every file that includes it.
namespace boost::asio {
class io_context;
}

namespace tidemark {

/// What to run. The child sees exactly this environment and no descriptor but 0, 1 and 2.
struct child_options {
  std::vector<std::string> argv; ///< argv[0] is looked up in the environment's PATH
  std::map<std::string, std::string> environment;
  std::string cwd;
  std::string guard; ///< path of the `tidemark-guard` executable
  /// Put into the environment as `process_mark` (process/orphans.hpp) and unique to this child, so
  /// that its helpers are found though the guard was killed. Empty: no mark.
  std::string mark = {};
  /// Run it in a terminal of this size, which controls its session: what it shows comes as stdout,
  /// there is no stderr, and what is written is what a user types.
  std::optional<terminal_size> terminal = {};
};

/// How a child ended.
struct child_exit {
  int code = -1;  ///< exit code; -1 if it died by a signal
  int signal = 0; ///< signal number; 0 if it exited
};

/// A child process under a guard (process/guard_main.cpp): when the main process ends, when it is
/// told to stop, or when the server dies, the guard kills every descendant, also those that left
/// the session or lost their parent.
///
/// All members are called on the thread that runs the given io_context; callbacks come there too.
/// Destroying it kills the tree.
class child {
public:
  struct callbacks {
    std::function<void(std::string_view)> on_stdout;
    std::function<void(std::string_view)> on_stderr;
    /// Called at most once: stdout has ended and the process has not, or not yet. Nothing more will
    /// be heard of it but its exit.
    std::function<void()> on_stdout_end = {};
    /// Called once, after the process has ended and its output was read: to end of file, or for
    /// `drain_limit` if something still holds the pipe.
    std::function<void(child_exit)> on_exit;
    /// The process has taken all that was written; its last write may still be on the stack.
    std::function<void()> on_input_taken = {};
  };
  static constexpr std::chrono::milliseconds drain_limit{2000};
  static constexpr std::chrono::milliseconds guard_limit{2000};

  /// Errors: `not_found` naming the executable or the missing working directory, `io`.
  static expected<std::unique_ptr<child>> spawn(boost::asio::io_context& io, child_options options,
                                                callbacks events);
  virtual ~child() = default;

  /// Queues bytes for stdin; never blocks, never raises SIGPIPE. Ignored once stdin is closed.
  virtual void write(std::string bytes) = 0;
  /// Bytes that were written and not yet taken by the process, to within one write.
  [[nodiscard]] virtual std::size_t pending_input() const = 0;
  /// Bytes that were written and not yet read by the process, to within one write. Those of a
  /// terminal count until the terminal has them.
  [[nodiscard]] virtual std::size_t unread_input() const = 0;
  /// Changes the size of its terminal. Ignored without one.
  virtual void resize(terminal_size size) = 0;
  /// Closes stdin after what is queued.
  virtual void close_stdin() = 0;
  /// Sends a signal to the main process alone.
  virtual void signal(int number) = 0;
  /// Kills the whole tree at once (SIGKILL). A guard that has not done it after `guard_limit` is
  /// killed itself, and the tree is found by its session and its mark.
  virtual void kill_tree() = 0;
  /// Stops and restarts reading stdout: back pressure while whoever reads it is behind.
  virtual void pause_output(bool paused) = 0;
  [[nodiscard]] virtual int pid() const = 0;
};

} // namespace tidemark
