#pragma once

#include "actors/agent_options.hpp"
#include "actors/shell_protocol.hpp"
#include "process/child.hpp"

namespace tidemark {

/// How the program of a shell is started: in the workspace's directory (made if need be), with the
/// environment an agent there gets, in a terminal, under the guard and with this server's mark.
/// Blocks for some small files. Errors: `io` or `full` if a directory cannot be made, `forbidden` if the
/// workspace's is a link.
expected<child_options> plan_shell(const agent_options& places, const shell_request& what);

/// What a failed start means to the client: a missing program is its own mistake
/// (`invalid_argument`), everything else is ours (`unavailable`).
error explain_shell(const error& why);

} // namespace tidemark
