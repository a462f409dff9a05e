#pragma once

#include "actors/commands.hpp"
#include "agents/adapter.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// What a workspace and the session that holds its agent process say to each other.
namespace tidemark {

/// Run one turn. The session keeps its live process if the launch fingerprint allows it, else
/// starts one.
struct session_begin {
  std::string turn;
  std::string prompt;
  std::string resume; ///< conversation to resume; empty for a fresh one
  policy rights = policy::agent;
  bool asks_people = false; ///< requests are put to people: what asks is offered to the agent
  std::string model;
  std::map<std::string, std::string> environment; ///< of this turn; secrets
};

/// Answer one permission ask.
struct session_answer {
  std::string permission;
  decision what = decision::deny;
  std::string message;
  json answers = nullptr; ///< to questions, by their texts; an object only if it allows those
};

/// How hard to stop the running turn.
enum class stop_force {
  interrupt, ///< in-band first, then stdin closed, TERM, KILL, each after a grace time
  kill       ///< the whole tree at once
};

/// The agent process of a turn, for `turn.started`.
struct session_started {
  std::string agent; ///< `claude` or `demo`
  std::string version;
  int pid = 0;
  std::string start; ///< `warm`, `cold` or `resume`
};

/// What a session tells its workspace, in order. `turn` is the turn it belongs to; output that
/// comes after a turn's end (background tasks) carries the empty string.
struct session_report {
  std::string turn;
  std::optional<session_started> started;
  std::vector<agent_event> events;
  std::vector<permission_ask> asks;
  std::vector<std::string> withdrawn;
  std::optional<turn_result> end;     ///< exactly one a begun turn
  std::optional<exit_status> exit;    ///< the process is gone
  std::optional<std::string> session; ///< the conversation's id, when heard of
  std::optional<std::vector<std::string>> tools;
};

using session_begin_ptr = std::shared_ptr<const session_begin>;
using session_answer_ptr = std::shared_ptr<const session_answer>;
using session_report_ptr = std::shared_ptr<const session_report>;

} // namespace tidemark
