#pragma once

#include "tests/faults/history.hpp"
#include "tests/integration/scene.hpp"

#include <map>
#include <memory>
#include <random>
#include <string>
#include <sys/types.h>
#include <vector>

namespace tidemark::test {

/// The workspaces of a part of the run, with what is known of each. A new part begins with new
/// ones, so that what is checked after each crash stays bounded while the log grows.
struct workspace_set {
  std::map<std::string, history> histories;
  std::vector<std::string> names;

  workspace_set(int part, int count);
  const std::string& any(std::mt19937_64& dice) const { return names[dice() % names.size()]; }
};

/// Something that uses the server while it is killed. Its calls come in this order, cycle by cycle.
/// Whatever a server can be busy with when it dies joins the run as one of these.
class participant {
public:
  virtual ~participant() = default;
  /// The server is up.
  virtual void join(scene& stage, workspace_set& with) = 0;
  /// Again and again, on a thread of its own, until the server was killed.
  virtual void act(scene& stage, workspace_set& with, std::mt19937_64& dice) = 0;
  /// The server is dead. The first broken promise; empty if none.
  virtual std::string killed(scene& stage, workspace_set& with) = 0;
  /// The server is up again, and this long it took to kill what the dead one had left.
  virtual std::string check(scene& stage, workspace_set& with) = 0;
};

/// Submits turns: words, tools, agents that ignore signals; asks again, with the same key, for what
/// it got no answer to.
std::unique_ptr<participant> make_writer();
/// Uses the drop-in workspace API and drops off with the server.
std::unique_ptr<participant> make_workspace_client();
/// Follows every workspace from where it was.
std::unique_ptr<participant> make_readers();
/// Looks after agents, their tools and what those left behind: none outlives the server for long.
std::unique_ptr<participant> make_orphan_watch(std::chrono::milliseconds& slowest,
                                               std::size_t& orphans);

/// What the users of shells have seen.
struct shell_figures {
  std::size_t acknowledged = 0;            ///< shells whose client had the answer
  std::size_t unheard_of = 0;              ///< in the log, but the kill came before the answer
  std::size_t left = 0;                    ///< their processes that were alive after a kill
  std::chrono::milliseconds slowest_end{}; ///< from a start until the log had the end of each
};
/// Opens shells, types into them, drops off with and without `keep`, ends some: whatever they
/// started is gone after the kill, and the log says of each once how it ended.
std::unique_ptr<participant> make_shell_users(shell_figures& seen, std::uint64_t& checked);

/// Takes what is new in the log of every workspace. The first broken promise; empty if none.
std::string take_new_events(const scene& stage, workspace_set& with, std::uint64_t& checked);
/// The results that wait for their client.
std::set<std::string> pending_results(const scene& stage, const std::string& workspace);

} // namespace tidemark::test
