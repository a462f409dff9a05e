#pragma once

#include "actors/agent_runtime.hpp"
#include "actors/git_script.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tidemark {

/// Records what the files of a workspace are before and after each of its turns, and says which differ
/// (`agent.snapshots`). Kept in git repositories of the server's own below the agents' state directory, so that
/// those in the workspace stay as they are. On the agents' I/O thread; one turn at a time.
class turn_files {
public:
  turn_files(agent_runtime& runtime, std::string workspace);

  /// Whether anything is recorded at all.
  [[nodiscard]] bool wanted() const { return runtime_.options.snapshots; }

  /// Calls `done` once it has recorded them or cannot, never from inside this function.
  void before(const std::string& turn, std::function<void()> done);

  /// Likewise, with the event `turn.changes`: what differs, or why that is not known. Nothing if there
  /// was no `before`.
  void after(std::function<void(std::optional<agent_event>)> done);

private:
  void run(std::string script, std::string when,
           std::function<void(expected<git_script::outcome>)> done);
  void compare(std::function<void(std::optional<agent_event>)> done);

  agent_runtime& runtime_;
  const std::string workspace_;
  std::string turn_;        ///< of the last `before`; empty if none
  std::string problem_;     ///< of it
  bool incomplete_ = false; ///< git could not read all files
  one_shot later_;
  std::unique_ptr<git_script> script_;
};

/// Reads what a turn changed, as a patch, from what was recorded of it. On the agents' I/O thread.
class turn_patch {
public:
  using callback = std::function<void(expected<std::string>)>;

  /// Longest patch; what is beyond is cut off, with a line that says so.
  static constexpr std::size_t most_bytes = 16 << 20;

  /// Precondition: both are ids as the server makes them. `done` is called once, later, and may destroy
  /// this. Known secrets are masked. Errors: `not_found` if nothing is recorded, those of git_script.
  turn_patch(agent_runtime& runtime, const std::string& workspace, const std::string& turn,
             callback done);

private:
  std::unique_ptr<git_script> script_;
};

/// Whether anything was recorded of any workspace. Looks at the disk.
bool has_turn_files(const agent_options& options);

/// How many turns are forgotten at a time.
inline constexpr std::size_t most_forgotten = 1000;

/// Removes what was recorded of these turns, and the copies of files that nothing else needs: at once
/// those that are older than an hour, younger ones with a later call, because a turn that runs may be
/// about to need them. On the agents' I/O thread. `done` is called once, later. Errors: those of git_script.
std::unique_ptr<git_script> forget_turn_files(agent_runtime& runtime, const std::string& workspace,
                                              const std::vector<std::string>& turns,
                                              std::function<void(expected<void>)> done);

} // namespace tidemark
