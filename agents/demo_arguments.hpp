#pragma once

#include "base/error.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tidemark {

/// The command line of the demo agent: the part of Claude Code's that Tidemark uses, with the same
/// names, so that one launch plan starts either.
struct demo_arguments {
  bool version = false;
  bool help = false;
  bool stream_input = false; ///< `--input-format stream-json`
  bool partial_messages = false;
  bool replay_user_messages = false;
  bool asks_on_stdio = false; ///< `--permission-prompt-tool stdio`
  bool skip_permissions = false;
  bool project_settings = true; ///< false if `--setting-sources` leaves out `project`
  std::string permission_mode = "default";
  std::string model = "demo-model-1";
  std::string resume;
  std::string session_id;
  std::vector<std::string> mcp_config;
  std::optional<std::vector<std::string>> tools;
  std::vector<std::string> disallowed;
  std::string prompt; ///< positional; for one-shot use
};

/// Errors: `invalid_argument` in the words of the real CLI for an unknown option or a missing value.
expected<demo_arguments> parse_demo_arguments(const std::vector<std::string>& argv);

/// The tools that the agent offers: its catalogue in its order, limited to `--tools` if given,
/// without the disallowed ones.
std::vector<std::string> offered_tools(const demo_arguments& given);

/// The disallowed names that match no tool: the real CLI warns about them on stderr.
std::vector<std::string> unknown_disallowed(const demo_arguments& given);

} // namespace tidemark
