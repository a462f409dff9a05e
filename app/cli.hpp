#pragma once

#include "app/config.hpp"
#include "app/terminal.hpp"

#include <string>
#include <vector>

namespace tidemark {

/// Runs the command line `tidemark <arguments>` and returns the process's exit code
/// (app/exit_code.hpp). Never throws.
int run_cli(std::vector<std::string> arguments, const environment_map& environment, terminal& to);

} // namespace tidemark
